// SPDX-License-Identifier: BSD-3-Clause

#include "sums/nearest_sums.hpp"

#include <algorithm>
#include <type_traits>

#include "sums/exact_sum.hpp"
#include "sums/nearest_loops.hpp"
#include "sums/plain_arithmetic.hpp"

namespace lanewise::sums {
namespace {

const NearestLoops& nearest_loops() {
    static constexpr NearestLoops portable{add_row<double>, add_row<float>};
#if defined(__x86_64__)
    static const bool wide = __builtin_cpu_supports("avx2") != 0;
    if (wide) return nearest_loops_avx2;
#endif
    return portable;
}

template <typename Real>
AddRow<Real> row_adder() {
    if constexpr (std::is_same_v<Real, double>) {
        return nearest_loops().doubles;
    } else {
        return nearest_loops().floats;
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

template <typename Real>
void add_many(std::span<const Real *const> vectors, std::size_t count, Real *sums) {
    const auto add = row_adder<Real>();
    NearestRow<Real> row;
    for (std::size_t first = 0; first < count; first += row_count) {
        const std::size_t now = std::min(row_count, count - first);
        const bool any_open = add(vectors.data(), vectors.size(), first, now, row);
        for (std::size_t i = 0; any_open && i < now; ++i) {
            if (row.open[i] != 0) row.sums[i] = decided_exactly(vectors, first + i);
        }
        std::copy_n(row.sums, now, sums + first);
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
