// SPDX-License-Identifier: BSD-3-Clause

#include "sums/rounding.hpp"

#include <algorithm>
#include <bit>

#include "sums/number_bits.hpp"

namespace lanewise::sums {
namespace {

// The magnitude as bits, and where they stand.
struct Leading {
    std::uint64_t bits = 0; /* the first 64 bits, the first of them set; 0 for a sum of zero */
    int exponent = 0;       /* of the last of these bits */
    bool more = false;      /* whether any bit behind them is set */
};

void negate(const Digits& exact) {
    for (std::int64_t& digit : exact.digits) digit = -digit;
    carry(exact);
}

std::uint64_t low_bits(int count) {
    return count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
}

// The digits must not be negative.
Leading leading_bits(const Digits& exact) {
    std::size_t top = exact.digits.size();
    while (top > 0 && exact.digits[top - 1] == 0) --top;
    Leading found;
    if (top == 0) return found;
    int filled = 0;
    found.exponent = exact.lowest + static_cast<int>(top) * exact.digit_bits;
    for (std::size_t i = top; i-- > 0;) {
        const auto digit = static_cast<std::uint64_t>(exact.digits[i]);
        // The last digit may be longer than its place.
        const int own = i + 1 == top ? static_cast<int>(std::bit_width(digit)) : exact.digit_bits;
        if (i + 1 == top) found.exponent += own - exact.digit_bits;
        const int taken = std::min(own, 64 - filled);
        const int left = own - taken;
        if (taken > 0) {
            found.bits = (taken == 64 ? 0 : found.bits << taken) | (digit >> left);
            filled += taken;
            found.exponent -= taken;
        }
        if ((digit & low_bits(left)) != 0) found.more = true;
    }
    const int missing = 64 - filled;
    if (missing < 64) found.bits <<= missing;  // as the first digit is not 0
    found.exponent -= missing;
    return found;
}

template <typename Real>
Real nearest(const Digits& exact) {
    using Number = NumberBits<Real>;
    if (exact.digits.empty()) return 0;
    carry(exact);
    const bool negative = exact.digits.back() < 0;
    if (negative) negate(exact);
    const Leading leading = leading_bits(exact);
    if (leading.bits == 0) return 0;
    // A subnormal number has fewer bits.
    const int dropped = std::max(64 - Number::precision, Number::least_exponent - leading.exponent);
    if (dropped > 64) return negative ? Real{-0.0} : Real{0};
    std::uint64_t kept = dropped == 64 ? 0 : leading.bits >> dropped;
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    const std::uint64_t rest = dropped == 64 ? leading.bits : leading.bits & (2 * half - 1);
    const bool above = rest > half || (rest == half && leading.more);
    if (above || (rest == half && (kept & 1U) != 0)) ++kept;
    return Number::number(kept, leading.exponent + dropped, negative);
}

}  // namespace

void carry(const Digits& exact) {
    const std::int64_t mask = (std::int64_t{1} << exact.digit_bits) - 1;
    std::int64_t carried = 0;
    for (std::size_t i = 0; i + 1 < exact.digits.size(); ++i) {
        // The two are carried apart, since their sum may not fit.
        const std::int64_t digit = exact.digits[i];
        const std::int64_t low = (digit & mask) + (carried & mask);
        exact.digits[i] = low & mask;
        carried =
            (digit >> exact.digit_bits) + (carried >> exact.digit_bits) + (low >> exact.digit_bits);
    }
    if (!exact.digits.empty()) exact.digits.back() += carried;
}

double nearest_double(const Digits& exact) {
    return nearest<double>(exact);
}

float nearest_float(const Digits& exact) {
    return nearest<float>(exact);
}

}  // namespace lanewise::sums
