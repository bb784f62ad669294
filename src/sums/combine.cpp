// SPDX-License-Identifier: BSD-3-Clause

#include "sums/combine.hpp"

#include "sums/combine_loops.hpp"
#include "sums/plain_arithmetic.hpp"

namespace lanewise::sums {
namespace {

#if defined(__x86_64__)
const AddLoops& widest_add_loops(const AddLoops& portable) {
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        return add_loops_avx512;
    }
    return __builtin_cpu_supports("avx2") ? add_loops_avx2 : portable;
}
#endif

const AddLoops& add_loops() {
    static constexpr AddLoops portable{add_numbers<double>, add_numbers<float>};
#if defined(__x86_64__)
    static const AddLoops& widest = widest_add_loops(portable);
    return widest;
#endif
    return portable;
}

template <typename Real, int per_element>
void add_vector(const std::byte *left, const std::byte *right, std::byte *result,
                std::int64_t count) {
    const PlainArithmetic here;
    const auto *a = reinterpret_cast<const Real *>(left);
    const auto *b = reinterpret_cast<const Real *>(right);
    auto *r = reinterpret_cast<Real *>(result);
    if constexpr (sizeof(Real) == sizeof(double)) {
        add_loops().doubles(a, b, r, count * per_element);
    } else {
        add_loops().floats(a, b, r, count * per_element);
    }
}

template <typename Real>
void multiply_vector(const std::byte *left, const std::byte *right, std::byte *result,
                     std::int64_t count) {
    const PlainArithmetic here;
    const auto *a = reinterpret_cast<const Real *>(left);
    const auto *b = reinterpret_cast<const Real *>(right);
    auto *r = reinterpret_cast<Real *>(result);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) r[i] = without_payload(a[i] * b[i]);
}

template <typename Real>
void multiply_complex(const std::byte *left, const std::byte *right, std::byte *result,
                      std::int64_t count) {
    const PlainArithmetic here;
    const auto *a = reinterpret_cast<const Real *>(left);
    const auto *b = reinterpret_cast<const Real *>(right);
    auto *r = reinterpret_cast<Real *>(result);
#pragma omp simd
    for (std::int64_t i = 0; i < 2 * count; i += 2) {
        const Real real = a[i] * b[i] - a[i + 1] * b[i + 1];
        const Real imaginary = a[i] * b[i + 1] + a[i + 1] * b[i];
        r[i] = without_payload(real);
        r[i + 1] = without_payload(imaginary);
    }
}

template <typename Real, Real (*take)(Real, Real)>
void take_from_both(const std::byte *left, const std::byte *right, std::byte *result,
                    std::int64_t count) {
    const PlainArithmetic here;
    const auto *a = reinterpret_cast<const Real *>(left);
    const auto *b = reinterpret_cast<const Real *>(right);
    auto *r = reinterpret_cast<Real *>(result);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) r[i] = take(a[i], b[i]);
}

template <typename Real>
Combine combine_reals(Combining combining, int per_element) {
    if (combining == Combining::sum) {
        return per_element == 2 ? add_vector<Real, 2> : add_vector<Real, 1>;
    }
    if (combining == Combining::maximum) return take_from_both<Real, maximum<Real>>;
    if (combining == Combining::minimum) return take_from_both<Real, minimum<Real>>;
    return per_element == 2 ? multiply_complex<Real> : multiply_vector<Real>;
}

}  // namespace

Combine combine_by(Combining combining, Numbers numbers) {
    return numbers.are_doubles ? combine_reals<double>(combining, numbers.per_element)
                               : combine_reals<float>(combining, numbers.per_element);
}

}  // namespace lanewise::sums
