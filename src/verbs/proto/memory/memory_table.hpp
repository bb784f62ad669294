// SPDX-License-Identifier: BSD-3-Clause
//
// Registered memory: which keys open which bytes to whom. Nothing in the engine reads or writes the
// program's memory except through find(), so nothing outside a region can be reached by a packet
// or by a wrong work request. A key is drawn at random, so that who was not told it has to guess 32
// bits, and one that was given back is most unlikely to come again. Local and remote key are the
// same number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <unordered_map>
#include <utility>

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
    // Where keys come from: nothing that anybody else can foretell. Without it they are the same in
    // each run.
    void draw_keys_with(std::function<std::uint32_t()> draw) { draw_ = std::move(draw); }

    // Returns the key, or 0 where there are too many regions.
    std::uint32_t add(const MemoryRegion& region);
    // False where the key is not in use.
    bool remove(std::uint32_t key);
    bool replace(std::uint32_t key, const MemoryRegion& region);

    // The bytes at [address, address + length), or null unless the key is in use in `domain`,
    // permits all of `access`, and covers the range. Reading one's own memory needs no access flag.
    std::byte *find(std::uint32_t key, ProtectionDomain domain, std::uint64_t address,
                    std::uint64_t length_bytes, std::uint32_t access) const;

    std::size_t size() const { return regions_.size(); }

  private:
    std::unordered_map<std::uint32_t, MemoryRegion> regions_;
    std::function<std::uint32_t()> draw_ = std::mt19937();
};

}  // namespace lanewise::verbs
