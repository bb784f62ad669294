// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/memory_table.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::uint32_t generation_bits = 8;
constexpr std::size_t slots_max = std::size_t{1} << (32 - generation_bits);

}  // namespace

std::uint32_t MemoryTable::add(const MemoryRegion& region) {
    if (free_.empty()) {
        if (slots_.size() == slots_max) {
            return 0;
        }
        free_.push_back(static_cast<std::uint32_t>(slots_.size()));
        slots_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.generation = static_cast<std::uint8_t>(slot.generation % 255 + 1);  // so no key is 0
    slot.key = (index << generation_bits) | slot.generation;
    slot.region = region;
    ++size_;
    return slot.key;
}

const MemoryTable::Slot *MemoryTable::slot(std::uint32_t key) const {
    const std::size_t index = key >> generation_bits;
    if (key == 0 || index >= slots_.size() || slots_[index].key != key) {
        return nullptr;
    }
    return &slots_[index];
}

bool MemoryTable::remove(std::uint32_t key) {
    if (slot(key) == nullptr) {
        return false;
    }
    slots_[key >> generation_bits].key = 0;
    free_.push_back(key >> generation_bits);
    --size_;
    return true;
}

bool MemoryTable::replace(std::uint32_t key, const MemoryRegion& region) {
    if (slot(key) == nullptr) {
        return false;
    }
    slots_[key >> generation_bits].region = region;
    return true;
}

std::byte *MemoryTable::find(std::uint32_t key, ProtectionDomain domain, std::uint64_t address,
                             std::uint64_t length_bytes, std::uint32_t access) const {
    const Slot *found = slot(key);
    if (found == nullptr) {
        return nullptr;
    }
    const MemoryRegion& region = found->region;
    const std::uint64_t offset = address - region.address;  // huge where address lies before it
    if (region.domain != domain || (region.access & access) != access ||
        offset > region.length_bytes || length_bytes > region.length_bytes - offset) {
        return nullptr;
    }
    return region.start + offset;
}

}  // namespace lanewise::verbs
