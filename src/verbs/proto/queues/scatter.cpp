// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queues/scatter.hpp"

#include <algorithm>

#include "verbs/proto/memory/guarded.hpp"

namespace lanewise::verbs {
namespace {

// Calls copy(memory, done, bytes) for each run of the range [offset, offset + size) of the slices,
// until one fails.
template <typename Copy>
Copied walk(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
            std::uint64_t offset, std::size_t size, std::uint32_t access, const Copy& copy) {
    std::size_t done = 0;
    for (const Slice& slice : slices) {
        if (done == size) {
            break;
        }
        if (offset >= slice.length_bytes) {
            offset -= slice.length_bytes;
            continue;
        }
        const std::size_t bytes = std::min<std::size_t>(
            size - done, slice.length_bytes - static_cast<std::size_t>(offset));
        std::byte *at = memory.find(slice.lkey, domain, slice.address + offset, bytes, access);
        if (at == nullptr) {
            return Copied::forbidden;
        }
        if (!copy(at, done, bytes)) {
            return Copied::forbidden;
        }
        done += bytes;
        offset = 0;
    }
    return done == size ? Copied::all : Copied::too_long;
}

}  // namespace

Copied gather(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
              std::uint64_t offset, std::span<std::byte> to, std::uint32_t *checksum) {
    const auto copy = [&](const std::byte *at, std::size_t done, std::size_t bytes) {
        return read_guarded(to.data() + done, at, bytes, checksum);
    };
    return walk(memory, domain, slices, offset, to.size(), 0, copy);
}

Copied scatter(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
               std::uint64_t offset, std::span<const std::byte> from) {
    const auto copy = [&](std::byte *at, std::size_t done, std::size_t bytes) {
        return place_guarded(at, from.data() + done, bytes);
    };
    return walk(memory, domain, slices, offset, from.size(), local_write, copy);
}

bool permitted(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
               std::uint32_t access) {
    return std::all_of(slices.begin(), slices.end(), [&](const Slice& slice) {
        return slice.length_bytes == 0 || memory.find(slice.lkey, domain, slice.address,
                                                      slice.length_bytes, access) != nullptr;
    });
}

std::uint64_t length_bytes(std::span<const Slice> slices) {
    std::uint64_t sum = 0;
    for (const Slice& slice : slices) {
        sum += slice.length_bytes;
    }
    return sum;
}

}  // namespace lanewise::verbs
