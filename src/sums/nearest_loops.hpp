// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of NearestSums, compiled once for each kind of processor. They call nothing, so that no
// code for one kind gets into a program for another. They work on vectors of a few elements, whose
// sums stay in registers until all numbers are added.

#pragma once

#include <cstddef>
#include <cstdint>

#include "sums/every_rounding.hpp"

namespace lanewise::sums {

/* The sums of so many elements are made at once. */
inline constexpr std::size_t row_count = 256;

template <typename Real>
struct NearestRow {
    Real sums[row_count];
    std::int64_t open[row_count]; /* not 0 where the sum is not certain */
};

/* Adds `count` elements of `number` vectors, at most `row_count`, from the element `first` on.
   Whether any sum is open. */
template <typename Real>
using AddRow = bool (*)(const Real *const *vectors, std::size_t number, std::size_t first,
                        std::size_t count, NearestRow<Real>& row);

struct NearestLoops {
    AddRow<double> doubles;
    AddRow<float> floats;
};

/* For processors that have AVX2. */
extern const NearestLoops nearest_loops_avx2;

namespace {

#if defined(__AVX2__)
constexpr std::size_t lanes = 4;
#else
constexpr std::size_t lanes = 2;
#endif

// So many vectors of elements at once, since each addition waits for the one before it.
constexpr std::size_t abreast = 2;
constexpr std::size_t group_count = lanes * abreast;

template <typename Real>
using Vector [[gnu::vector_size(lanes * sizeof(Real))]] = Real;

using Doubles = Vector<double>;
using Words = Vector<std::int64_t>;

// The exact sum of an element is sum + error + rest; of the rest only a bound is known.
struct Kept {
    Doubles sum;
    Doubles error;
    Doubles rest_bound;
};

// The sum of two numbers and its error, exact (D. Knuth, The Art of Computer Programming 2, 4.2.2).
struct Both {
    Doubles sum;
    Doubles error;
};

inline Both add_both(Doubles a, Doubles b) {
    const Doubles sum = a + b;
    const Doubles part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

inline Doubles magnitude(Doubles x) {
    const Words signs = Words{} + INT64_MIN;
    return reinterpret_cast<Doubles>(reinterpret_cast<Words>(x) & ~signs);
}

inline void add_to(Kept& kept, Doubles values) {
    const auto [sum, error] = add_both(kept.sum, values);
    const auto [errors, rest] = add_both(kept.error, error);
    kept.sum = sum;
    kept.error = errors;
    kept.rest_bound += magnitude(rest);
}

// The nearest numbers, and which of them are open: those have all bits set. The sum of NaN, of
// infinities, and beyond the format is open: its error is NaN.
template <typename Real>
struct Settled {
    Vector<Real> nearest;
    Words open;
};

inline void settle(const Kept& kept, Settled<double>& settled) {
    const auto [sum, error] = add_both(kept.sum, kept.error);
    // Wider than the bound by more than its own rounding, and never a tie.
    const Doubles bound = kept.rest_bound * 1.01 + magnitude(error) * 0x1p-51;
    const Words near = (sum + (error - bound) == sum) & (sum + (error + bound) == sum);
    settled.open = ~((kept.rest_bound == 0) | near);
    // Of zeros only the plain sum has the sign.
    settled.nearest = kept.error == 0 ? kept.sum : sum;
}

// To a float by way of a double that has a last bit of 1 where it is not exact, so that no
// information is lost between the two roundings (S. Boldo, G. Melquiond, "When double rounding is
// odd", 2005).
inline void settle(const Kept& kept, Settled<float>& settled) {
    const auto [sum, error] = add_both(kept.sum, kept.error);
    auto bits = reinterpret_cast<Words>(sum);
    const Words odd = -(bits & 1);
    const Words inward = (error > 0) ^ (sum > 0);
    // Away from zero by 1, or towards it: inward is -1 then, else 0.
    bits += (2 * inward + 1) & (error != 0) & ~odd;
    const Doubles exact = kept.error == 0 ? kept.sum : reinterpret_cast<Doubles>(bits);
    settled.nearest = __builtin_convertvector(exact, Vector<float>);
    settled.open = kept.rest_bound != 0;
}

template <typename Real>
Doubles read_all(const Real *values, std::size_t) {
    Vector<Real> read;
    __builtin_memcpy(&read, values, sizeof read);
    return __builtin_convertvector(read, Doubles);
}

// Behind the last element are zeros, whose sums nobody takes.
template <typename Real>
Doubles read_some(const Real *values, std::size_t count) {
    Vector<Real> read{};
    __builtin_memcpy(&read, values, (count < lanes ? count : lanes) * sizeof(Real));
    return __builtin_convertvector(read, Doubles);
}

template <typename Real>
using Read = Doubles (*)(const Real *values, std::size_t count);

// Of `count` elements from `first` on, at most `group_count`.
template <typename Real, Read<Real> read>
void begin_group(const Real *values, std::size_t count, Kept *kept) {
    for (std::size_t k = 0; k < abreast; ++k) {
        const std::size_t at = k * lanes < count ? k * lanes : count;
        kept[k] = {read(values + at, count - at), Doubles{}, Doubles{}};
    }
}

template <typename Real, Read<Real> read>
void add_to_group(const Real *values, std::size_t count, Kept *kept) {
    for (std::size_t k = 0; k < abreast; ++k) {
        const std::size_t at = k * lanes < count ? k * lanes : count;
        add_to(kept[k], read(values + at, count - at));
    }
}

template <typename Real>
Words settle_group(const Kept *kept, Real *sums, std::int64_t *open) {
    Words any{};
    for (std::size_t k = 0; k < abreast; ++k) {
        Settled<Real> settled;
        settle(kept[k], settled);
        __builtin_memcpy(sums + k * lanes, &settled.nearest, sizeof settled.nearest);
        __builtin_memcpy(open + k * lanes, &settled.open, sizeof settled.open);
        any |= settled.open;
    }
    return any;
}

template <typename Real, Read<Real> read>
Words add_group(const Real *const *vectors, std::size_t number, std::size_t first,
                std::size_t count, Real *sums, std::int64_t *open) {
    Kept kept[abreast];
    begin_group<Real, read>(vectors[0] + first, count, kept);
    for (std::size_t v = 1; v < number; ++v) {
        add_to_group<Real, read>(vectors[v] + first, count, kept);
    }
    return settle_group(kept, sums, open);
}

// The row has room for a whole group at its end.
template <typename Real>
bool add_row(const Real *const *vectors, std::size_t number, std::size_t first, std::size_t count,
             NearestRow<Real>& row) {
    static_assert(row_count % group_count == 0);
    Words open{};
    std::size_t i = 0;
    for (; i + group_count <= count; i += group_count) {
        open |= add_group<Real, read_all<Real>>(vectors, number, first + i, group_count,
                                                row.sums + i, row.open + i);
    }
    if (i < count) {
        open |= add_group<Real, read_some<Real>>(vectors, number, first + i, count - i,
                                                 row.sums + i, row.open + i);
    }
    std::int64_t any = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) any |= open[lane];
    return any != 0;
}

}  // namespace
}  // namespace lanewise::sums
