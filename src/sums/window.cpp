// SPDX-License-Identifier: BSD-3-Clause

#include "sums/window.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "sums/exact_sum.hpp"
#include "sums/rounding.hpp"

namespace lanewise::sums {
namespace {

__extension__ using Wide = __int128;
__extension__ using WideBits = unsigned __int128;

// The widest window has 2098 bits: those of doubles.
constexpr std::int16_t above_max = 1024;
constexpr std::int16_t depth_max = 1074;
// Its digits, of 32 bits.
constexpr std::size_t digits_max = 67;
// Where there is something special: NaN and +infinity in a word, -infinity and -0 in another.
constexpr std::size_t special_words = 2;

template <typename Real>
struct Format;

template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int fraction_bits = 52;
};

template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int fraction_bits = 23;
};

// A number as an integer and the exponent of its last bit.
struct Parts {
    std::uint64_t integer = 0;
    int exponent = 0;
    bool negative = false;
    bool finite = true;
};

template <typename Real>
Parts parts_of(Real value) {
    using Bits = typename Format<Real>::Bits;
    constexpr int fraction = Format<Real>::fraction_bits;
    constexpr int exponent_field_max = 2 * std::numeric_limits<Real>::max_exponent - 1;
    constexpr int least = std::numeric_limits<Real>::min_exponent - fraction - 1;
    const Bits bits = std::bit_cast<Bits>(value);
    const Bits field = (bits >> fraction) & static_cast<Bits>(exponent_field_max);
    const Bits low = bits & ((Bits{1} << fraction) - 1);
    const bool negative = (bits >> (sizeof(Bits) * 8 - 1)) != 0;
    if (field == 0) return {low, least, negative, true};
    return {low | (Bits{1} << fraction), least + static_cast<int>(field) - 1, negative,
            field != static_cast<Bits>(exponent_field_max)};
}

template <typename Real>
Window window_of(std::span<const Real> values) {
    int above = Window::none;
    int depth = Window::none;
    bool special = false;
    for (const Real value : values) {
        const Parts parts = parts_of(value);
        if (!parts.finite || parts.integer == 0) {
            special |= !parts.finite || parts.negative;
            continue;
        }
        const int length = static_cast<int>(std::bit_width(parts.integer));
        above = std::max(above, parts.exponent + length);
        depth = std::max(depth, -(parts.exponent + std::countr_zero(parts.integer)));
    }
    return {static_cast<std::int16_t>(above), static_cast<std::int16_t>(depth),
            static_cast<std::int16_t>(special)};
}

// A number into digits that lie `stride` words apart, each with the sign of the number.
void spread(const Parts& parts, int depth, int digit_bits, std::int64_t *digits,
            std::size_t stride) {
    if (!parts.finite || parts.integer == 0) return;
    const int shift = parts.exponent + depth;
    const std::uint64_t integer = shift < 0 ? parts.integer >> -shift : parts.integer;
    const int place = std::max(shift, 0);
    auto left = static_cast<WideBits>(integer) << (place % digit_bits);
    digits += static_cast<std::size_t>(place / digit_bits) * stride;
    for (; left != 0; left >>= digit_bits, digits += stride) {
        const auto digit = static_cast<std::int64_t>(static_cast<std::uint64_t>(left) &
                                                     ((std::uint64_t{1} << digit_bits) - 1));
        *digits = parts.negative ? -digit : digit;
    }
}

template <typename Real>
void note_special(Real value, std::int64_t *words) {
    constexpr std::int64_t upper = std::int64_t{1} << 32;
    const bool negative = std::signbit(value);
    if (std::isnan(value)) {
        words[0] = 1;
    } else if (std::isinf(value) && !negative) {
        words[0] = upper;
    } else if (std::isinf(value)) {
        words[1] = 1;
    } else if (value == 0 && negative) {
        words[1] = upper;
    }
}

Specials specials_in(const std::int64_t *words, int ranks) {
    const auto low = [](std::int64_t word) { return word & 0xffffffff; };
    const std::int64_t minus_zeros = words[1] >> 32;
    return {low(words[0]), words[0] >> 32, low(words[1]), minus_zeros, ranks - minus_zeros};
}

template <typename Real>
Real rounded(const Digits& exact) {
    if constexpr (sizeof(Real) == sizeof(double)) {
        return nearest_double(exact);
    } else {
        return nearest_float(exact);
    }
}

}  // namespace

template <typename Real>
void find_windows(std::span<const Real> values, std::span<Window> windows) {
    for (Window& window : windows) {
        const std::size_t count = std::min(block_count, values.size());
        window = window_of(values.first(count));
        values = values.subspan(count);
    }
}

Packing::Packing(int ranks)
    : ranks_(ranks),
      rank_bits_(static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)))),
      digit_bits_(62 - rank_bits_) {}

std::size_t Packing::width(const Window& window) const {
    if (window.above == Window::none) return 0;
    const int bits = window.above + window.depth;
    return static_cast<std::size_t>((bits + digit_bits_ - 1) / digit_bits_);
}

std::size_t Packing::words(std::span<const Window> windows, std::size_t count) const {
    std::size_t sum = 0;
    for (const Window& window : windows) {
        const std::size_t own = std::min(block_count, count);
        sum += own * (width(window) + (window.specials != 0 ? special_words : 0));
        count -= own;
    }
    return sum;
}

std::size_t Packing::blocks_within(std::size_t room, std::span<const Window> windows,
                                   std::size_t count) const {
    std::size_t blocks = 0;
    for (std::size_t sum = 0; blocks < windows.size(); ++blocks) {
        sum += words(windows.subspan(blocks, 1), count - blocks * block_count);
        if (sum > room && blocks > 0) break;
    }
    return blocks;
}

std::size_t Packing::number_words_max() const {
    return width({.above = above_max, .depth = depth_max}) + special_words;
}

// Whether numbers and their sums can be scaled to integers and back by powers of two that are
// normal numbers, without a result that is subnormal or infinite.
template <typename Real>
bool Packing::is_plain(const Window& window) const {
    using Limits = std::numeric_limits<Real>;
    return window.depth < -Limits::min_exponent && window.depth > Limits::min_exponent + 64 &&
           window.above + rank_bits_ < Limits::max_exponent && width(window) <= 2;
}

template <typename Real>
void Packing::pack(std::span<const Real> values, std::span<const Window> windows,
                   std::int64_t *words) const {
    for (const Window& window : windows) {
        const std::size_t count = std::min(block_count, values.size());
        const std::size_t digits = width(window);
        if (window.specials != 0) {
            std::fill_n(words, special_words * count, 0);
            for (std::size_t i = 0; i < count; ++i, words += special_words) {
                note_special(values[i], words);
            }
        }
        if (digits == 1 && window.specials == 0 && is_plain<Real>(window)) {
            const double scale = std::ldexp(1.0, window.depth);
            for (std::size_t i = 0; i < count; ++i) {
                words[i] = static_cast<std::int64_t>(static_cast<double>(values[i]) * scale);
            }
        } else if (digits == 2 && window.specials == 0 && is_plain<Real>(window)) {
            const double scale = std::ldexp(1.0, window.depth);
            const double digit = std::ldexp(1.0, digit_bits_);
            const double inverse = std::ldexp(1.0, -digit_bits_);
            for (std::size_t i = 0; i < count; ++i) {
                const double scaled = static_cast<double>(values[i]) * scale;
                const auto high = static_cast<std::int64_t>(scaled * inverse);
                words[count + i] = high;
                words[i] = static_cast<std::int64_t>(scaled - static_cast<double>(high) * digit);
            }
        } else {
            std::fill_n(words, digits * count, 0);
            for (std::size_t i = 0; i < count; ++i) {
                spread(parts_of(values[i]), window.depth, digit_bits_, words + i, count);
            }
        }
        words += digits * count;
        values = values.subspan(count);
    }
}

template <typename Real>
void Packing::unpack(const std::int64_t *words, std::span<const Window> windows,
                     std::span<Real> values) const {
    for (const Window& window : windows) {
        const std::size_t count = std::min(block_count, values.size());
        const std::size_t digits = width(window);
        const std::int64_t *specials = window.specials != 0 ? words : nullptr;
        if (specials) words += special_words * count;
        const bool plain = is_plain<Real>(window);
        const Real scale = plain ? std::ldexp(Real{1}, -window.depth) : Real{0};
        std::array<std::int64_t, digits_max> row{};
        for (std::size_t i = 0; i < count; ++i) {
            if (digits == 1 && plain) {
                values[i] = static_cast<Real>(words[i]) * scale;
            } else if (digits == 2 && plain) {
                const Wide high = Wide{words[count + i]} << digit_bits_;
                values[i] = static_cast<Real>(high + words[i]) * scale;
            } else {
                for (std::size_t d = 0; d < digits; ++d) row[d] = words[d * count + i];
                const std::span<std::int64_t> used(row.data(), digits);
                values[i] = rounded<Real>({used, digit_bits_, -window.depth});
            }
            if (!specials) continue;
            const Specials seen = specials_in(specials + special_words * i, ranks_);
            if (seen.decide()) {
                values[i] = static_cast<Real>(seen.value());
            } else if (seen.others == 0) {
                values[i] = Real{-0.0};
            }
        }
        words += digits * count;
        values = values.subspan(count);
    }
}

template void find_windows(std::span<const double>, std::span<Window>);
template void find_windows(std::span<const float>, std::span<Window>);
template void Packing::pack(std::span<const double>, std::span<const Window>, std::int64_t *) const;
template void Packing::pack(std::span<const float>, std::span<const Window>, std::int64_t *) const;
template void Packing::unpack(const std::int64_t *, std::span<const Window>,
                              std::span<double>) const;
template void Packing::unpack(const std::int64_t *, std::span<const Window>,
                              std::span<float>) const;

}  // namespace lanewise::sums
