// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory: which keys open which bytes to whom. Nothing in the engine reads or writes the
// program's memory except through find(), so nothing outside a region can be reached by a packet
// or by a wrong work request. A key is a slot and a generation, so a key that was given back is
// refused for the next 255 registrations in its slot. Local and remote key are the same number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lanewise::verbs {

using ProtectionDomain = std::uint32_t;

// Numbered as enum ibv_access_flags.
enum Access : std::uint32_t {
    local_write = 1,
    remote_write = 2,
    remote_read = 4,
    remote_atomic = 8,
};

struct MemoryRegion {
    ProtectionDomain domain = 0;
    std::byte *start = nullptr;
    std::uint64_t address = 0;  // what programs and packets call `start`; it, or an iova
    std::uint64_t length_bytes = 0;
    std::uint32_t access = 0;  // of Access, or-ed
};

class MemoryTable {
  public:
    // Returns the key, or 0 where no slot is left.
    std::uint32_t add(const MemoryRegion& region);
    // False where the key is not in use.
    bool remove(std::uint32_t key);
    bool replace(std::uint32_t key, const MemoryRegion& region);

    // The bytes at [address, address + length), or null unless the key is in use in `domain`,
    // permits all of `access`, and covers the range. Reading one's own memory needs no access flag.
    std::byte *find(std::uint32_t key, ProtectionDomain domain, std::uint64_t address,
                    std::uint64_t length_bytes, std::uint32_t access) const;

    std::size_t size() const { return size_; }

  private:
    struct Slot {
        MemoryRegion region;
        std::uint32_t key = 0;  // 0 while the slot is free
        std::uint8_t generation = 0;
    };
    const Slot *slot(std::uint32_t key) const;

    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::size_t size_ = 0;
};

}  // namespace lanewise::verbs
