// SPDX-License-Identifier: BSD-3-Clause
//
// Between a packet's bytes and the scattered memory of a work request. Keys are checked at every
// packet, because the program may take a region back while a message is under way.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/queues/work_request.hpp"

namespace lanewise::verbs {

// `forbidden`: by the keys, or the memory is gone.
enum class Copied : std::uint8_t { all, too_long, forbidden };

// The slices from `offset` on are one run of bytes: reads `to.size()` of them. A checksum that is
// not null is fed what is read (crc32::feed_copying).
Copied gather(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
              std::uint64_t offset, std::span<std::byte> to, std::uint32_t *checksum);

// Writes `from` into them.
Copied scatter(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
               std::uint64_t offset, std::span<const std::byte> from);

// Whether every slice lies in memory that permits `access`.
bool permitted(const MemoryTable& memory, ProtectionDomain domain, std::span<const Slice> slices,
               std::uint32_t access);

std::uint64_t length_bytes(std::span<const Slice> slices);

}  // namespace lanewise::verbs
