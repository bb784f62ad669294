// SPDX-License-Identifier: BSD-3-Clause

#include "sums/long_product.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

#include "sums/number_bits.hpp"

namespace lanewise::sums {
namespace {

// More factors than any program multiplies.
constexpr std::int64_t product_max = std::int64_t{1} << 62; /* steps, and powers of two */
// Where the exponent stays of what is squared again and again, far beyond any number.
constexpr std::int64_t power_max = product_max / 2;
constexpr std::size_t mark_count = 5;

constexpr std::uint64_t first_bit = std::uint64_t{1} << (word_bits - 1);

std::uint64_t low_word(TwoWords value) {
    return static_cast<std::uint64_t>(value);
}

std::uint64_t high_word(TwoWords value) {
    return static_cast<std::uint64_t>(value >> word_bits);
}

std::int64_t within_range(std::int64_t exponent) {
    return std::clamp(exponent, -power_max, power_max);
}

}  // namespace

LongProduct::LongProduct(std::size_t words) : words_(words) {
    words_.back() = first_bit;
}

template <typename Real>
void LongProduct::multiply(Real factor) {
    using Number = NumberBits<Real>;
    const Number number(factor);
    negative_ ^= number.negative;
    if (number.field == Number::field_max) {
        (number.fraction == 0 ? has_infinity_ : has_nan_) = true;
        return;
    }
    std::uint64_t bits = number.fraction;
    if (number.field != 0) bits |= Number::hidden_bit;
    if (bits == 0) {
        has_zero_ = true;
        return;
    }
    const int leading = std::countl_zero(bits);
    const int last_exponent = Number::least_exponent + std::max(number.field - 1, 0);
    exponent_ += last_exponent + word_bits - 1 - leading;
    multiply_bits(bits << leading);
}

void LongProduct::multiply_bits(std::uint64_t normalized) {
    TwoWords product = TwoWords{words_.front()} * normalized;
    const std::uint64_t cut_off = low_word(product);
    for (std::size_t i = 1; i < words_.size(); ++i) {
        product = TwoWords{words_[i]} * normalized + high_word(product);
        words_[i - 1] = low_word(product);
    }
    words_.back() = high_word(product);
    normalize(cut_off);
}

// Both factors were in [1, 2), so that the product is in [1, 4): its first bit is the first, or the
// second.
void LongProduct::normalize(std::uint64_t cut_off) {
    if ((words_.back() & first_bit) != 0) {
        ++exponent_;
    } else {
        for (std::size_t i = words_.size(); i-- > 1;) {
            words_[i] = (words_[i] << 1) | (words_[i - 1] >> (word_bits - 1));
        }
        words_[0] = (words_[0] << 1) | (cut_off >> (word_bits - 1));
        cut_off <<= 1;
    }
    cuts_off_ |= cut_off != 0;
    steps_ = std::min(steps_ + 1, product_max);
}

void LongProduct::multiply(const LongProduct& other) {
    const std::size_t count = words_.size();
    std::vector<std::uint64_t> product(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t carried = 0;
        for (std::size_t j = 0; j < count; ++j) {
            const TwoWords sum = TwoWords{words_[i]} * other.words_[j] + product[i + j] + carried;
            product[i + j] = low_word(sum);
            carried = high_word(sum);
        }
        product[i + count] = carried;
    }
    const auto middle = product.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(middle, product.end(), words_.begin());
    cuts_off_ |= other.cuts_off_ ||
                 std::any_of(product.begin(), middle - 1, [](std::uint64_t w) { return w != 0; });
    exponent_ = within_range(within_range(exponent_) + within_range(other.exponent_));
    steps_ = std::min(steps_, product_max - other.steps_) + other.steps_;
    negative_ ^= other.negative_;
    has_nan_ |= other.has_nan_;
    has_infinity_ |= other.has_infinity_;
    has_zero_ |= other.has_zero_;
    normalize(*(middle - 1));
}

bool LongProduct::bit(int at) const {
    return ((words_[static_cast<std::size_t>(at / word_bits)] >> (at % word_bits)) & 1U) != 0;
}

bool LongProduct::has_bit_below(int bit) const {
    for (int i = 0; i * word_bits < bit; ++i) {
        const int own = std::min(bit - i * word_bits, word_bits);
        if ((words_[static_cast<std::size_t>(i)] << (word_bits - own)) != 0) return true;
    }
    return false;
}

// Whether the exact product, too, is smaller than V with this bit in place of those behind it.
bool LongProduct::is_below_half(int half_bit) const {
    if (!cuts_off_) return true;
    // The unit and all that is between V and half-way.
    for (int i = 1; i * word_bits < half_bit; ++i) {
        const int own = std::min(half_bit - i * word_bits, word_bits);
        if ((~words_[static_cast<std::size_t>(i)] << (word_bits - own)) != 0) return true;
    }
    return ~words_.front() / 4 >= static_cast<std::uint64_t>(steps_);
}

template <typename Real>
bool LongProduct::round(Real& nearest) const {
    using Number = NumberBits<Real>;
    using Limits = std::numeric_limits<Real>;
    if (has_nan_ || (has_zero_ && has_infinity_)) {
        nearest = Limits::quiet_NaN();
        return true;
    }
    if (has_infinity_ || has_zero_) {
        // A zero is the number 0 * 2^least.
        nearest =
            Number::number(0, has_zero_ ? Number::least_exponent : Limits::max_exponent, negative_);
        return true;
    }
    // A subnormal number has fewer bits.
    const std::int64_t last =
        std::max<std::int64_t>(exponent_ - (Number::precision - 1), Number::least_exponent);
    const std::int64_t kept_bits = exponent_ - last + 1;
    if (kept_bits < -1) {
        nearest = Number::number(0, Number::least_exponent, negative_);
        return true;
    }
    const int all_bits = static_cast<int>(words_.size()) * word_bits;
    const int half_bit = all_bits - static_cast<int>(kept_bits) - 1;
    const std::uint64_t kept =
        kept_bits < 1 ? 0 : words_.back() >> (word_bits - static_cast<int>(kept_bits));
    const bool above = kept_bits >= 0 && bit(half_bit);
    if (!above && !is_below_half(half_bit)) return false;
    const bool is_tie = above && !cuts_off_ && !has_bit_below(half_bit);
    const bool up = above && (!is_tie || (kept & 1U) != 0);
    // Of a normal number the field counts the hidden bit, which `number` adds to it.
    nearest = Number::number(kept + (up ? 1 : 0), last, negative_);
    return true;
}

void LongProduct::write(std::span<std::int64_t> words) const {
    const auto rest = std::transform(words_.begin(), words_.end(), words.begin(),
                                     [](auto word) { return std::bit_cast<std::int64_t>(word); });
    rest[0] = exponent_;
    rest[1] = steps_;
    rest[2] = 0;
    const bool marks[mark_count] = {cuts_off_, negative_, has_nan_, has_infinity_, has_zero_};
    for (std::size_t i = 0; i < std::size(marks); ++i) {
        if (marks[i]) rest[2] |= std::int64_t{1} << i;
    }
}

bool LongProduct::are_words(std::span<const std::int64_t> words) {
    const auto rest = words.last(words_besides);
    const bool has_first_bit = words[words.size() - words_besides - 1] < 0;
    return has_first_bit && rest[0] >= -product_max && rest[0] <= product_max && rest[1] >= 0 &&
           rest[1] <= product_max && rest[2] >= 0 && rest[2] < std::int64_t{1} << mark_count;
}

LongProduct LongProduct::read(std::span<const std::int64_t> words) {
    LongProduct made(words.size() - words_besides);
    const auto *rest = words.data() + made.words_.size();
    std::transform(words.data(), rest, made.words_.begin(),
                   [](auto word) { return std::bit_cast<std::uint64_t>(word); });
    made.words_.back() |= first_bit;
    made.exponent_ = rest[0];
    made.steps_ = rest[1];
    bool *const marks[mark_count] = {&made.cuts_off_, &made.negative_, &made.has_nan_,
                                     &made.has_infinity_, &made.has_zero_};
    for (std::size_t i = 0; i < std::size(marks); ++i) *marks[i] = ((rest[2] >> i) & 1) != 0;
    return made;
}

template void LongProduct::multiply(double);
template void LongProduct::multiply(float);
template bool LongProduct::round(double&) const;
template bool LongProduct::round(float&) const;

}  // namespace lanewise::sums
