// SPDX-License-Identifier: BSD-3-Clause
//
// CRC-32 with the polynomial of Ethernet, lowest bit first, and its algebra. A remainder is a
// polynomial over GF(2) whose coefficient of x^k is bit 31 - k. What follows is a state: start from
// all ones, feed bytes, and invert at the end.
//
// Where the processor multiplies without carries the input is folded (crc32_folding.hpp), and
// otherwise taken eight bytes a step from tables (Kounavis and Berry, ISCC 2005).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanewise::verbs::crc32 {

inline constexpr std::uint32_t initial = 0xffffffff;
inline constexpr std::uint32_t polynomial = 0xedb88320;

// The state after `bytes`, by the fastest way that this processor has.
std::uint32_t feed(std::uint32_t state, std::span<const std::byte> bytes);

// The same while the bytes are copied to `to`, which lies elsewhere. Each is read once, so the
// state is that of the copy also where others write to `bytes` meanwhile.
std::uint32_t feed_copying(std::uint32_t state, std::byte *to, std::span<const std::byte> bytes);

// The state after `bytes` by tables only.
std::uint32_t feed_portably(std::uint32_t state, std::span<const std::byte> bytes);

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (std::uint32_t coefficient = 1u << 31; coefficient != 0; coefficient >>= 1) {
        product ^= (a & coefficient) != 0 ? b : 0;
        b = (b >> 1) ^ ((b & 1) != 0 ? polynomial : 0);
    }
    return product;
}

// a · b · x^32, by the fastest way that this processor has.
std::uint32_t shifted_product(std::uint32_t a, std::uint32_t b);

// The same by steps of a bit.
std::uint32_t shifted_product_portably(std::uint32_t a, std::uint32_t b);

// x^exponent; the polynomial is primitive, so exponents count modulo 2^32 - 1 and may be negative.
constexpr std::uint32_t x_to_the(std::int64_t exponent) {
    constexpr std::int64_t order = 0xffffffff;
    auto left = static_cast<std::uint64_t>((exponent % order + order) % order);
    std::uint32_t power = 1u << 31;
    for (std::uint32_t square = 1u << 30; left != 0; left >>= 1) {
        power = (left & 1) != 0 ? multiply(power, square) : power;
        square = multiply(square, square);
    }
    return power;
}

}  // namespace lanewise::verbs::crc32
