// SPDX-License-Identifier: BSD-3-Clause
//
// CRC-32 by carry-less multiplication: what came before is multiplied by a power of x and so moved
// onto what comes, 16 bytes at a time in each of several sums, and what is left at the end is
// divided (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel
// 2009). Wide folding does the same with 64 bytes in a register.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanewise::verbs::crc32 {

enum class Folding : std::uint8_t { none, narrow, wide };

// What this processor can do; one that folds widely folds narrowly as well.
Folding folding_here();

// The state after at least so many bytes; only where the processor folds.
inline constexpr std::size_t folding_bytes_min = 16;
std::uint32_t feed_folding(std::uint32_t state, std::span<const std::byte> bytes);

// Likewise, only where it folds widely.
inline constexpr std::size_t wide_bytes_min = 512;
std::uint32_t feed_folding_wide(std::uint32_t state, std::span<const std::byte> bytes);

// Both also copy the bytes to `to`.
inline constexpr std::size_t copy_folding_bytes_min = 128;
std::uint32_t copy_folding(std::uint32_t state, std::byte *to, std::span<const std::byte> bytes);
std::uint32_t copy_folding_wide(std::uint32_t state, std::byte *to,
                                std::span<const std::byte> bytes);

// a · b · x^32, only where the processor folds.
std::uint32_t shifted_product_folding(std::uint32_t a, std::uint32_t b);

}  // namespace lanewise::verbs::crc32
