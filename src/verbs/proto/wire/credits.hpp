// SPDX-License-Identifier: BSD-3-Clause
//
// End-to-end credits: how many receive requests wait, in five bits (IBA 1, table 46).

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lanewise::verbs {

inline constexpr std::array<std::uint32_t, 31> credit_counts{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

constexpr std::uint32_t credits_of(std::uint8_t code) {
    return code < credit_counts.size() ? credit_counts[code] : 0;
}

// The greatest code that does not promise more than there is.
constexpr std::uint8_t credit_code(std::uint32_t requests) {
    const auto *above = std::upper_bound(credit_counts.begin(), credit_counts.end(), requests);
    return static_cast<std::uint8_t>(above - credit_counts.begin() - 1);
}

}  // namespace lanewise::verbs
