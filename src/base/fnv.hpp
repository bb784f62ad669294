// SPDX-License-Identifier: BSD-3-Clause
//
// FNV-1a, the 64-bit hash of Fowler, Noll and Vo: for identifiers that must be the same on every
// host and in every run, which std::hash does not promise.

#pragma once

#include <cstdint>

namespace lanewise {

inline constexpr std::uint64_t fnv1a_basis = 0xcbf29ce484222325U;

/* The hash of what `hash` stands for, followed by `value`: an octet, or a wider word where speed
   matters more than agreement with other implementations. */
constexpr std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x100000001b3U;
}
static_assert(fnv1a(fnv1a_basis, 'a') == 0xaf63dc4c8601ec8cU);

}  // namespace lanewise
