// SPDX-License-Identifier: BSD-3-Clause
#include "sums/nearest_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sums/exact_sum.hpp"
#include "sums/plain_arithmetic.hpp"

namespace lanewise::sums {
namespace {

// Elements at a time: their three sums stay in the cache nearest to the processor.
constexpr std::size_t row_count = 256;

// The exact sum of an element is sum + error + rest; of the rest only a bound is known.
struct Rows {
    std::array<double, row_count> sum;
    std::array<double, row_count> error;
    std::array<double, row_count> rest_bound;
};

// The sum of two numbers and its error, exact (D. Knuth, The Art of Computer Programming 2, 4.2.2).
struct Both {
    double sum;
    double error;
};

inline Both add_both(double a, double b) {
    const double sum = a + b;
    const double part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

template <typename Real>
void begin_rows(const Real *values, std::size_t count, Rows& rows) {
    for (std::size_t i = 0; i < count; ++i) {
        rows.sum[i] = static_cast<double>(values[i]);
        rows.error[i] = 0;
        rows.rest_bound[i] = 0;
    }
}

template <typename Real>
void add_to_rows(const Real *values, std::size_t count, Rows& rows) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto [sum, error] = add_both(rows.sum[i], static_cast<double>(values[i]));
        const auto [errors, rest] = add_both(rows.error[i], error);
        rows.sum[i] = sum;
        rows.error[i] = errors;
        rows.rest_bound[i] += std::abs(rest);
    }
}

template <typename Real>
Real decided_exactly(std::span<const Real *const> vectors, std::size_t i) {
    ExactSum exact;
    for (const Real *values : vectors) exact.add(static_cast<double>(values[i]));
    if constexpr (std::is_same_v<Real, double>) {
        return exact.as_double();
    } else {
        return exact.as_float();
    }
}

// The nearest number, where it is certain. The sum of NaN, of infinities, and beyond the format is
// not: its error is NaN.
bool settle(const Rows& rows, std::size_t i, double& nearest) {
    const auto [sum, error] = add_both(rows.sum[i], rows.error[i]);
    // Of zeros only the plain sum has the sign.
    nearest = rows.error[i] == 0 ? rows.sum[i] : sum;
    if (rows.rest_bound[i] == 0) return true;
    // Wider than the bound by more than its own rounding, and never a tie.
    const double bound = rows.rest_bound[i] * 1.01 + std::abs(error) * 0x1p-51;
    return sum + (error - bound) == sum && sum + (error + bound) == sum;
}

// To a float by way of a double that has a last bit of 1 where it is not exact, so that no
// information is lost between the two roundings (S. Boldo, G. Melquiond, "When double rounding is
// odd", 2005).
bool settle(const Rows& rows, std::size_t i, float& nearest) {
    if (rows.rest_bound[i] != 0) return false;
    auto [sum, error] = add_both(rows.sum[i], rows.error[i]);
    if (error == 0) {
        nearest = static_cast<float>(rows.error[i] == 0 ? rows.sum[i] : sum);
        return true;
    }
    std::uint64_t bits = 0;
    std::memcpy(&bits, &sum, sizeof bits);
    if ((bits & 1U) == 0) bits += (error > 0) == (sum > 0) ? 1 : std::uint64_t{0} - 1;
    std::memcpy(&sum, &bits, sizeof bits);
    nearest = static_cast<float>(sum);
    return true;
}

template <typename Real>
void add_many(std::span<const Real *const> vectors, std::size_t count, Real *sums) {
    Rows rows;
    for (std::size_t first = 0; first < count; first += row_count) {
        const std::size_t now = std::min(row_count, count - first);
        begin_rows(vectors[0] + first, now, rows);
        for (const Real *values : vectors.subspan(1)) add_to_rows(values + first, now, rows);
        for (std::size_t i = 0; i < now; ++i) {
            Real nearest = 0;
            sums[first + i] =
                settle(rows, i, nearest) ? nearest : decided_exactly(vectors, first + i);
        }
    }
}

}  // namespace

template <typename Real>
void add_to_nearest(std::span<const Real *const> vectors, std::size_t count, Real *sums) {
    const PlainArithmetic here;
    const Real *first = vectors[0];
    if (vectors.size() == 1) {
        for (std::size_t i = 0; i < count; ++i) sums[i] = without_payload(first[i]);
    } else if (vectors.size() == 2) {
        const Real *second = vectors[1];
        for (std::size_t i = 0; i < count; ++i) sums[i] = without_payload(first[i] + second[i]);
    } else {
        add_many(vectors, count, sums);
    }
}

template void add_to_nearest(std::span<const double *const>, std::size_t, double *);
template void add_to_nearest(std::span<const float *const>, std::size_t, float *);

}  // namespace lanewise::sums
