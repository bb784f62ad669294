// SPDX-License-Identifier: BSD-3-Clause

#include "sums/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sums/plain_arithmetic.hpp"
#include "sums/rounding.hpp"

namespace lanewise::sums {
namespace {

constexpr int word_digit_bits = 32;
constexpr int least_exponent = -1074;
// Each adds less than 2^32 to a digit.
constexpr std::int64_t additions_max = std::int64_t{1} << 29;
// Of the words of 2^30 sums that are added up.
constexpr std::int64_t word_max = std::int64_t{1} << 62;
// The last digit is the sign of each sum, so there is room to add to it.
constexpr std::int64_t last_digit_max = std::int64_t{1} << 32;
constexpr int mantissa_bits = 52;
constexpr std::uint64_t exponent_max = 0x7ff;

void count(Specials& specials, double value) {
    if (std::isnan(value)) {
        ++specials.nans;
    } else if (value > 0) {
        ++specials.plus_infinities;
    } else {
        ++specials.minus_infinities;
    }
}

}  // namespace

double Specials::value() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (nans > 0 || (plus_infinities > 0 && minus_infinities > 0)) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    return plus_infinities > 0 ? infinity : -infinity;
}

void ExactSum::add(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool negative = (bits >> 63) != 0;
    const std::uint64_t exponent = (bits >> mantissa_bits) & exponent_max;
    std::uint64_t mantissa = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
    if (bits == std::uint64_t{1} << 63) {
        ++specials_.minus_zeros;
        return;
    }
    ++specials_.others;
    if (exponent == exponent_max) {
        count(specials_, value);
        return;
    }
    if (exponent != 0) mantissa |= std::uint64_t{1} << mantissa_bits;
    if (++additions_ > additions_max) make_room();
    const unsigned shift = exponent == 0 ? 0 : static_cast<unsigned>(exponent - 1);
    const unsigned offset = shift % word_digit_bits;
    std::int64_t *digit = &digits_[shift / word_digit_bits];
    const std::uint64_t low = mantissa << offset;  // what falls off is in `high`
    const std::uint64_t high = offset == 0 ? 0 : mantissa >> (64 - offset);
    const std::int64_t parts[] = {static_cast<std::int64_t>(low & 0xffffffffU),
                                  static_cast<std::int64_t>(low >> 32),
                                  static_cast<std::int64_t>(high)};
    const std::int64_t sign = negative ? -1 : 0;  // x ^ -1 is -x - 1
    for (int i = 0; i < 3; ++i) digit[i] += (parts[i] ^ sign) - sign;
}

void ExactSum::add(std::span<const double> values) {
    for (const double value : values) add(value);
}

void ExactSum::add(std::span<const float> values) {
    const PlainArithmetic here;
    for (const float value : values) add(static_cast<double>(value));
}

void ExactSum::add(const ExactSum& other) {
    Words sum = words();
    const Words added = other.words();
    for (std::size_t i = 0; i < word_count; ++i) sum[i] += added[i];
    *this = from(sum);
}

void ExactSum::make_room() {
    carry({digits_, word_digit_bits, least_exponent});
    additions_ = 1;
}

double ExactSum::as_double() const {
    const PlainArithmetic here;
    if (specials_.decide()) return specials_.value();
    std::array<std::int64_t, digit_count> digits = digits_;
    const double sum = nearest_double({digits, word_digit_bits, least_exponent});
    return sum == 0 && std::all_of(digits.begin(), digits.end(), [](auto d) { return d == 0; })
               ? specials_.zero()
               : sum;
}

float ExactSum::as_float() const {
    const PlainArithmetic here;
    if (specials_.decide()) return static_cast<float>(specials_.value());
    std::array<std::int64_t, digit_count> digits = digits_;
    const float sum = nearest_float({digits, word_digit_bits, least_exponent});
    return sum == 0 && std::all_of(digits.begin(), digits.end(), [](auto d) { return d == 0; })
               ? static_cast<float>(specials_.zero())
               : sum;
}

ExactSum::Words ExactSum::words() const {
    std::array<std::int64_t, digit_count> digits = digits_;
    carry({digits, word_digit_bits, least_exponent});
    Words made{};
    const auto rest = std::copy(digits.begin(), digits.end(), made.begin());
    const std::int64_t counts[] = {specials_.nans, specials_.plus_infinities,
                                   specials_.minus_infinities, specials_.minus_zeros,
                                   specials_.others};
    // What matters is which of them are zero.
    std::transform(std::begin(counts), std::end(counts), rest,
                   [](std::int64_t n) { return std::int64_t{n > 0}; });
    return made;
}

bool ExactSum::are_words(const Words& words) {
    const auto counts = words.begin() + digit_count;
    const auto is_digit = [](std::int64_t word) { return word >= -word_max && word <= word_max; };
    const auto is_count = [](std::int64_t word) { return word >= 0 && word <= word_max; };
    const std::int64_t last_digit = words[digit_count - 1];
    return std::all_of(words.begin(), counts, is_digit) &&
           std::all_of(counts, words.end(), is_count) && last_digit >= -last_digit_max &&
           last_digit <= last_digit_max;
}

ExactSum ExactSum::from(const Words& words) {
    ExactSum made;
    std::copy_n(words.begin(), digit_count, made.digits_.begin());
    const auto *counts = words.data() + digit_count;
    made.specials_ = {counts[0], counts[1], counts[2], counts[3], counts[4]};
    made.make_room();
    // A sum that is doubled again and again comes where no numbers do, and is infinite from then
    // on.
    const std::int64_t last_digit = made.digits_.back();
    if (last_digit > last_digit_max) ++made.specials_.plus_infinities;
    if (last_digit < -last_digit_max) ++made.specials_.minus_infinities;
    // The lower digits of a negative sum are positive.
    if (last_digit > last_digit_max || last_digit < -last_digit_max) made.digits_.fill(0);
    return made;
}

}  // namespace lanewise::sums
