// SPDX-License-Identifier: BSD-3-Clause

#include "sums/long_complex_product.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "sums/number_bits.hpp"
#include "sums/rounding.hpp"

namespace lanewise::sums {
namespace {

using Magnitude = std::vector<std::uint64_t>;

// The first bit of the longer of two parts: what is left above it has room for a sum of products.
int first_bit_of(std::size_t words) {
    return static_cast<int>(words) * word_bits - 3;
}

// How many units, of so many steps, the product may differ from what is kept.
constexpr std::int64_t units_per_step = 9;

// The place of the first set bit; -1 for zero.
int place_of_first_bit(const Magnitude& words) {
    for (std::size_t i = words.size(); i-- > 0;) {
        if (words[i] != 0) {
            return static_cast<int>(i) * word_bits + static_cast<int>(std::bit_width(words[i])) - 1;
        }
    }
    return -1;
}

bool has_bit_below(const Magnitude& words, int bit) {
    for (int i = 0; i * word_bits < bit; ++i) {
        const int own = std::min(bit - i * word_bits, word_bits);
        if ((words[static_cast<std::size_t>(i)] << (word_bits - own)) != 0) return true;
    }
    return false;
}

// What starts at a bit of `from`, as far as `to` has room.
void shift_down(const Magnitude& from, int bit, Magnitude& to) {
    const auto skipped = static_cast<std::size_t>(bit / word_bits);
    const int shift = bit % word_bits;
    const auto word = [&](std::size_t i) { return i < from.size() ? from[i] : 0; };
    for (std::size_t i = 0; i < to.size(); ++i) {
        const std::uint64_t low = word(i + skipped) >> shift;
        to[i] = shift == 0 ? low : low | (word(i + skipped + 1) << (word_bits - shift));
    }
}

void multiply_words(const Magnitude& a, const Magnitude& b, Magnitude& product) {
    product.assign(a.size() + b.size(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::uint64_t carried = 0;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const TwoWords sum = TwoWords{a[i]} * b[j] + product[i + j] + carried;
            product[i + j] = static_cast<std::uint64_t>(sum);
            carried = static_cast<std::uint64_t>(sum >> word_bits);
        }
        product[i + b.size()] = carried;
    }
}

void add_words(Magnitude& to, const Magnitude& words) {
    std::uint64_t carried = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
        const TwoWords sum = TwoWords{to[i]} + words[i] + carried;
        to[i] = static_cast<std::uint64_t>(sum);
        carried = static_cast<std::uint64_t>(sum >> word_bits);
    }
}

// The larger less the smaller, in `from`. Whether that was the smaller.
bool take_difference(Magnitude& from, const Magnitude& words) {
    const bool is_smaller =
        std::lexicographical_compare(from.rbegin(), from.rend(), words.rbegin(), words.rend());
    const Magnitude& larger = is_smaller ? words : from;
    const Magnitude& smaller = is_smaller ? from : words;
    std::uint64_t borrowed = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const TwoWords rest = TwoWords{larger[i]} - smaller[i] - borrowed;
        from[i] = static_cast<std::uint64_t>(rest);
        borrowed = static_cast<std::uint64_t>(rest >> word_bits) & 1U;
    }
    return is_smaller;
}

// The bits of a finite number, and the exponent of the last one.
template <typename Real>
struct Bits {
    std::uint64_t bits = 0;
    int exponent = 0;

    explicit Bits(const NumberBits<Real>& number)
        : bits(number.fraction | (number.field != 0 ? NumberBits<Real>::hidden_bit : 0)),
          exponent(NumberBits<Real>::least_exponent + std::max(number.field - 1, 0)) {}

    int first() const { return exponent + static_cast<int>(std::bit_width(bits)) - 1; }
    int last() const { return exponent + std::countr_zero(bits); }
};

// The bits at a place of `words`, which may be below them. Whether a set bit was cut off.
bool put(std::uint64_t bits, std::int64_t place, Magnitude& words) {
    std::fill(words.begin(), words.end(), 0);
    if (place <= -word_bits) return bits != 0;
    if (place < 0) {
        words[0] = bits >> -place;
        return (bits << (word_bits + place)) != 0;
    }
    const auto at = static_cast<std::size_t>(place / word_bits);
    const int shift = static_cast<int>(place % word_bits);
    if (at < words.size()) words[at] = bits << shift;
    if (shift != 0 && at + 1 < words.size()) words[at + 1] = bits >> (word_bits - shift);
    return false;
}

}  // namespace

LongComplexProduct::LongComplexProduct(std::size_t words) : word_count_(words) {
    restart();
}

void LongComplexProduct::restart() {
    product_.real.words.assign(word_count_, 0);
    product_.real.words.back() = std::uint64_t{1} << (word_bits - 3);
    product_.imaginary.words.assign(word_count_, 0);
    product_.real.negative = product_.imaginary.negative = false;
    product_.exponent = -first_bit_of(word_count_);
    steps_ = 0;
    cuts_off_ = has_no_number_ = has_zero_ = false;
    is_on_axis_ = true;
}

// Into no more words than it needs. Whether it is a number other than zero.
template <typename Real>
bool LongComplexProduct::take_factor(std::complex<Real> factor) {
    using Number = NumberBits<Real>;
    const Number numbers[] = {Number(factor.real()), Number(factor.imag())};
    const Bits<Real> parts[] = {Bits<Real>(numbers[0]), Bits<Real>(numbers[1])};
    for (const Number& number : numbers) has_no_number_ |= number.field == Number::field_max;
    int first = std::numeric_limits<int>::min();
    int last = std::numeric_limits<int>::max();
    for (const auto& part : parts) {
        if (part.bits == 0) continue;
        first = std::max(first, part.first());
        last = std::min(last, part.last());
    }
    const bool is_zero = parts[0].bits == 0 && parts[1].bits == 0;
    has_zero_ |= is_zero;
    is_on_axis_ &= parts[0].bits == 0 || parts[1].bits == 0;
    if (is_zero || has_no_number_) return false;
    // Two bits above the first one stay clear.
    const auto needed = static_cast<std::size_t>((first - last + 3 + word_bits - 1) / word_bits);
    const std::size_t words = std::min(needed, word_count_);
    factor_.exponent = first - first_bit_of(words);
    Part *const places[] = {&factor_.real, &factor_.imaginary};
    for (std::size_t i = 0; i < 2; ++i) {
        places[i]->words.resize(words);
        places[i]->negative = numbers[i].negative;
        cuts_off_ |= put(parts[i].bits, parts[i].exponent - factor_.exponent, places[i]->words);
    }
    return true;
}

template <typename Real>
void LongComplexProduct::multiply(std::complex<Real> factor) {
    if (!take_factor(factor)) return;
    multiply_by_factor();
    const int first = std::max(place_of_first_bit(longer_.real.words),
                               place_of_first_bit(longer_.imaginary.words));
    cut_off_below(first - first_bit_of(word_count_));
    ++steps_;
}

void LongComplexProduct::multiply_by_factor() {
    thread_local Magnitude other;
    const auto combine = [&](const Part& a, const Part& b, const Part& c, const Part& d,
                             bool subtract, Part& part) {
        multiply_words(a.words, b.words, part.words);
        part.negative = a.negative != b.negative;
        multiply_words(c.words, d.words, other);
        const bool other_negative = (c.negative != d.negative) != subtract;
        if (part.negative == other_negative) {
            add_words(part.words, other);
        } else {
            part.negative ^= take_difference(part.words, other);
        }
    };
    const auto& [a, b, exponent] = product_;
    const auto& [c, d, factor_exponent] = factor_;
    combine(a, c, b, d, true, longer_.real);
    combine(a, d, b, c, false, longer_.imaginary);
    longer_.exponent = exponent + factor_exponent;
}

// The absolute value of a product is that of the factors multiplied, so that `bit` is above 0.
void LongComplexProduct::cut_off_below(int bit) {
    cuts_off_ |=
        has_bit_below(longer_.real.words, bit) || has_bit_below(longer_.imaginary.words, bit);
    shift_down(longer_.real.words, bit, product_.real.words);
    shift_down(longer_.imaginary.words, bit, product_.imaginary.words);
    product_.real.negative = longer_.real.negative;
    product_.imaginary.negative = longer_.imaginary.negative;
    product_.exponent = longer_.exponent + bit;
}

template <typename Real>
bool LongComplexProduct::round_part(const Part& part, Real& nearest) const {
    constexpr int digit_bits = 32;
    // Far beyond all formats one exponent is as good as another.
    constexpr std::int64_t far = 1 << 20;
    const auto lowest =
        static_cast<int>(std::clamp(product_.exponent, -far - first_bit_of(word_count_), far));
    std::vector<std::int64_t> digits(2 * word_count_);
    const auto bound = [&](std::int64_t units) {
        for (std::size_t i = 0; i < digits.size(); ++i) {
            const auto digit =
                static_cast<std::uint32_t>(part.words[i / 2] >> (i % 2 * digit_bits));
            digits[i] = part.negative ? -std::int64_t{digit} : std::int64_t{digit};
        }
        digits[0] += units;
        const Digits exact{.digits = digits, .digit_bits = digit_bits, .lowest = lowest};
        if constexpr (sizeof(Real) == sizeof(double)) return nearest_double(exact);
        return static_cast<Real>(nearest_float(exact));
    };
    if (!cuts_off_ || (is_on_axis_ && place_of_first_bit(part.words) < 0)) {
        nearest = bound(0);
        return true;
    }
    using Pattern = typename NumberBits<Real>::Bits;
    nearest = bound(-units_per_step * steps_);
    return std::bit_cast<Pattern>(nearest) ==
           std::bit_cast<Pattern>(static_cast<Real>(bound(units_per_step * steps_)));
}

template <typename Real>
bool LongComplexProduct::round(std::complex<Real>& nearest) const {
    if (has_no_number_) {
        constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();
        nearest = {nan, nan};
        return true;
    }
    nearest = {};
    if (has_zero_) return true;
    Real real = 0;
    Real imaginary = 0;
    if (!round_part(product_.real, real) || !round_part(product_.imaginary, imaginary)) {
        return false;
    }
    nearest = {real, imaginary};
    return true;
}

template void LongComplexProduct::multiply(std::complex<double>);
template void LongComplexProduct::multiply(std::complex<float>);
template bool LongComplexProduct::round(std::complex<double>&) const;
template bool LongComplexProduct::round(std::complex<float>&) const;

}  // namespace lanewise::sums
