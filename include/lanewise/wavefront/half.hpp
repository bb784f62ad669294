// SPDX-License-Identifier: BSD-3-Clause
//
// Half: a number of 16 bits (binary16 of IEEE 754) as it is stored, while arithmetic is in floats.
//
// A half becomes the float of its value, and a float the nearest half, the even one of two, as in
// NumPy. A number that is no number stays one. No processor needs to have halves for this.

#pragma once

#include <bit>
#include <cstdint>

namespace lanewise::wavefront {

class half {
  public:
    half() = default;
    half(float value) : bits_(nearest(std::bit_cast<std::uint32_t>(value))) {}
    operator float() const {
        const std::uint32_t sign = (bits_ & 0x8000u) << 16;
        const std::uint32_t magnitude = bits_ & 0x7fffu;
        // Below the smallest normal number the bits count steps of 2^-24.
        const auto subnormal =
            std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
        const std::uint32_t exponent = magnitude < 0x7c00u ? 127 - 15 : 255 - 31;
        const std::uint32_t normal = (magnitude << 13) + (exponent << 23);
        return std::bit_cast<float>(sign | (magnitude < 0x0400u ? subnormal : normal));
    }
    std::uint16_t bits() const { return bits_; }

  private:
    static std::uint16_t nearest(std::uint32_t value) {
        const std::uint32_t magnitude = value & 0x7fffffffu;
        return static_cast<std::uint16_t>((value >> 16 & 0x8000u) | nearest_magnitude(magnitude));
    }
    static std::uint32_t nearest_magnitude(std::uint32_t value) {
        if (value > 0x7f800000u) return 0x7e00u | (value >> 13 & 0x01ffu);
        // From halfway between the largest half and 2^16 on.
        if (value >= 0x477ff000u) return 0x7c00u;
        // Added to a half, the smallest ones are rounded to steps of 2^-24, of which its bits then
        // have the number.
        if (value < 0x38800000u)
            return std::bit_cast<std::uint32_t>(std::bit_cast<float>(value) + 0.5f) - 0x3f000000u;
        const std::uint32_t even = value >> 13 & 1u;
        return (value + 0x0fffu + even - ((127u - 15u) << 23)) >> 13;
    }

    std::uint16_t bits_;
};

/* What arithmetic with stored numbers is done in: halves are computed with as floats. */
template <typename Stored>
struct arithmetic {
    using type = Stored;
};
template <>
struct arithmetic<half> {
    using type = float;
};
template <typename Stored>
using arithmetic_t = typename arithmetic<Stored>::type;

}  // namespace lanewise::wavefront
