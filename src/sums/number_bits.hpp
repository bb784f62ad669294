// SPDX-License-Identifier: BSD-3-Clause
//
// NumberBits: the fields of a floating-point number (IEEE 754-2019, 3.4), and a number from them.
// TwoWords: an integer that holds the product of two words.

#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lanewise::sums {

__extension__ using TwoWords = unsigned __int128;
inline constexpr int word_bits = 64;

template <typename Real>
struct NumberBits {
    using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
    using Limits = std::numeric_limits<Real>;

    static constexpr int precision = Limits::digits;
    static constexpr int fraction_bits = precision - 1;
    static constexpr Bits hidden_bit = Bits{1} << fraction_bits;
    static constexpr int sign_at = static_cast<int>(sizeof(Real)) * 8 - 1;
    static constexpr int field_max = 2 * Limits::max_exponent - 1;
    static constexpr int bias = Limits::max_exponent - 1;
    /* The exponent of the last bit of a subnormal number. */
    static constexpr int least_exponent = Limits::min_exponent - precision;

    Bits fraction = 0;
    int field = 0; /* of the exponent */
    bool negative = false;

    explicit NumberBits(Real value) {
        const auto bits = std::bit_cast<Bits>(value);
        fraction = bits & (hidden_bit - 1);
        field = static_cast<int>((bits >> fraction_bits) & static_cast<Bits>(field_max));
        negative = (bits >> sign_at) != 0;
    }

    bool is_normal() const { return field != 0 && field != field_max; }

    /* `last_bits` times 2^exponent, where they are at most 2^precision, and fewer than that where
       the number is subnormal; infinite beyond the format. */
    static Real number(std::uint64_t last_bits, std::int64_t exponent, bool negative) {
        const Bits sign = static_cast<Bits>(negative ? 1 : 0) << sign_at;
        const std::int64_t field = exponent - least_exponent;
        Bits bits = static_cast<Bits>(field_max) << fraction_bits;
        // A bit that is carried beyond the fraction counts the exponent up.
        if (field < field_max) {
            const Bits made =
                (static_cast<Bits>(field) << fraction_bits) + static_cast<Bits>(last_bits);
            bits = made < bits ? made : bits;
        }
        return std::bit_cast<Real>(static_cast<Bits>(bits | sign));
    }
};

}  // namespace lanewise::sums
