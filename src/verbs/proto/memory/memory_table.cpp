// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/memory_table.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::size_t regions_max = 1 << 24;

}  // namespace

std::uint32_t MemoryTable::add(const MemoryRegion& region) {
    if (regions_.size() == regions_max) {
        return 0;
    }
    std::uint32_t key = 0;
    do {
        key = draw_();
    } while (key == 0 || !regions_.try_emplace(key, region).second);
    return key;
}

bool MemoryTable::remove(std::uint32_t key) {
    return regions_.erase(key) == 1;
}

bool MemoryTable::replace(std::uint32_t key, const MemoryRegion& region) {
    const auto found = regions_.find(key);
    if (found == regions_.end()) {
        return false;
    }
    found->second = region;
    return true;
}

std::byte *MemoryTable::find(std::uint32_t key, ProtectionDomain domain, std::uint64_t address,
                             std::uint64_t length_bytes, std::uint32_t access) const {
    const auto found = regions_.find(key);
    if (found == regions_.end()) {
        return nullptr;
    }
    const MemoryRegion& region = found->second;
    const std::uint64_t offset = address - region.address;  // huge where address lies before it
    if (region.domain != domain || (region.access & access) != access ||
        offset > region.length_bytes || length_bytes > region.length_bytes - offset) {
        return nullptr;
    }
    // An implicit region (ibv_reg_mr(3)) is all of the memory and begins at null.
    return reinterpret_cast<std::byte *>(reinterpret_cast<std::uintptr_t>(region.start) + offset);
}

}  // namespace lanewise::verbs
