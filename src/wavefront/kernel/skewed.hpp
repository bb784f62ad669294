// SPDX-License-Identifier: BSD-3-Clause
//
// Skewed: eight rows of a Gauss-Seidel sweep at once, in the skewed layout.
//
// Vector t of a band holds element (l, t - l) in lane l. When vector t is
// computed, all it needs is at hand: west is vector t - 1 just computed; north
// is the same vector moved up one lane, its lane 0 filled with lane 7 of the
// band above; east is vector t + 1 as it was; south is that one moved down,
// lane 7 filled from the band below. Two shuffles, no gather, and each lane
// evaluates the very expression of the scalar sweep.
//
// This header is compiled once for each instruction set. `Isa` is a type private
// to the translation unit, so that no instance is shared between them, and no
// function of the standard library is called for the same reason.

#pragma once

#include "wavefront/kernel/band.hpp"

namespace lanewise::wavefront {

template <typename Real>
struct Lanes;
template <>
struct Lanes<float> {
    typedef float Vector __attribute__((vector_size(32)));
    typedef std::int32_t Mask __attribute__((vector_size(32)));
};
template <>
struct Lanes<double> {
    typedef double Vector __attribute__((vector_size(64)));
    typedef std::int64_t Mask __attribute__((vector_size(64)));
};

template <typename Isa, typename Real, typename Cell>
struct Skewed {
    using Vector = typename Lanes<Real>::Vector;
    using Mask = typename Lanes<Real>::Mask;
    using Index = std::int64_t;
    static constexpr Index lanes = 8;

    struct Neighbours {
        const Vector& north_west;
        const Vector& north;
        const Vector& west;
        const Vector& center;
        const Vector& east;
        const Vector& south;
        [[gnu::always_inline]] Vector operator()(int down, int right) const {
            if (down < 0) return right < 0 ? north_west : north;
            if (down > 0) return south;
            return right < 0 ? west : right > 0 ? east : center;
        }
    };
    struct Coefficients {
        const Vector *const *matrices;
        Index at;
        [[gnu::always_inline]] Vector operator()(unsigned matrix) const {
            return matrices[matrix][at];
        }
    };

    struct Largest {
        Vector value{};
        [[gnu::always_inline]] void see(const Vector& before, const Vector& after) {
            const Vector change = after > before ? after - before : before - after;
            const Vector infinite = Vector{} + static_cast<Real>(__builtin_inf());
            const Vector sound = change == change ? change : infinite;
            value = sound > value ? sound : value;
        }
        double most() const {
            Real found = 0;
            for (Index l = 0; l < lanes; ++l) found = value[l] > found ? value[l] : found;
            return static_cast<double>(found);
        }
    };
    struct Nothing {
        [[gnu::always_inline]] void see(const Vector& /*before*/, const Vector& /*after*/) {}
        double most() const { return 0.0; }
    };

    // The state of one band's sweep: vectors t - 1 and t, and north of the step before.
    struct Sweep {
        const Cell& cell;
        Vector *data;
        const Vector *above;
        const Vector *below;
        const Vector *coefficients[Cell::coefficients];
        Vector west{};
        Vector center{};
        Vector north_before{};
    };

    [[gnu::always_inline]] static Vector northern(const Vector& west, const Vector& above) {
        return __builtin_shufflevector(west, above, 15, 0, 1, 2, 3, 4, 5, 6);
    }
    [[gnu::always_inline]] static Vector southern(const Vector& east, const Vector& below) {
        return __builtin_shufflevector(east, below, 1, 2, 3, 4, 5, 6, 7, 8);
    }

    // Vectors [first, end): every lane holds an interior cell.
    template <typename Observer>
    static void run_whole(Sweep& sweep, Index first, Index end, Observer& observer) {
        Vector *const data = sweep.data;
        const Vector *const above = sweep.above;
        const Vector *const below = sweep.below;
        Vector west = sweep.west;
        Vector center = sweep.center;
        Vector north_before = sweep.north_before;
        for (Index t = first; t < end; ++t) {
            const Vector east = data[t + 1];
            const Vector north = northern(west, above[t + lanes - 1]);
            const Vector south = southern(east, below[t - lanes + 1]);
            const Vector after =
                sweep.cell(Neighbours{north_before, north, west, center, east, south},
                           Coefficients{sweep.coefficients, t});
            data[t] = after;
            observer.see(center, after);
            north_before = north;
            west = after;
            center = east;
        }
        sweep.west = west;
        sweep.center = center;
        sweep.north_before = north_before;
    }

    // Vectors [first, end) where some lanes hold cells of the border or none at all.
    template <typename Observer>
    static void run_masked(Sweep& sweep, const Band& band, Index first, Index end,
                           Observer& observer) {
        const Index columns = static_cast<Index>(band.columns);
        const Index last_vector = columns + lanes - 2;
        for (Index t = first; t < end; ++t) {
            const Vector east = t < last_vector ? sweep.data[t + 1] : Vector{};
            const Vector above =
                t + lanes - 1 <= last_vector ? sweep.above[t + lanes - 1] : Vector{};
            const Vector below = t >= lanes - 1 ? sweep.below[t - lanes + 1] : Vector{};
            const Vector north = northern(sweep.west, above);
            const Vector south = southern(east, below);
            const Vector after = sweep.cell(
                Neighbours{sweep.north_before, north, sweep.west, sweep.center, east, south},
                Coefficients{sweep.coefficients, t});
            const Vector kept = interior(band, t) ? after : sweep.center;
            sweep.data[t] = kept;
            observer.see(sweep.center, kept);
            sweep.north_before = north;
            sweep.west = kept;
            sweep.center = east;
        }
    }

    static Mask interior(const Band& band, Index t) {
        Mask mask{};
        for (Index l = 0; l < lanes; ++l) {
            const auto row = static_cast<Index>(band.first_row) + l;
            const bool inside = row >= 1 && row + 1 < static_cast<Index>(band.rows) && t - l >= 1 &&
                                t - l + 1 < static_cast<Index>(band.columns);
            mask[l] = inside ? -1 : 0;
        }
        return mask;
    }

    template <typename Observer>
    static double update(const void *parameters, const Band& band) {
        const auto columns = static_cast<Index>(band.columns);
        if (columns < 3 || band.rows < 3) return 0.0;
        const auto vectors = [](std::byte *bytes) { return reinterpret_cast<Vector *>(bytes); };
        Sweep sweep{*static_cast<const Cell *>(parameters),
                    vectors(band.here[0]),
                    vectors(band.above[0]),
                    vectors(band.below[0]),
                    {}};
        for (unsigned m = 0; m < Cell::coefficients; ++m)
            sweep.coefficients[m] = vectors(band.here[1 + m]);
        sweep.west = sweep.data[0];
        sweep.center = sweep.data[1];
        // Lane 0 of the first north-west is the corner above the first interior cell.
        sweep.north_before = northern(Vector{}, sweep.above[lanes - 1]);

        Observer observer;
        const bool whole_rows = band.first_row > 0 && band.first_row + lanes < band.rows;
        const Index end = columns + lanes - 2;
        const Index whole_first = lanes;
        const Index whole_end = columns - 1;
        if (whole_rows && whole_first < whole_end) {
            run_masked(sweep, band, 1, whole_first, observer);
            run_whole(sweep, whole_first, whole_end, observer);
            run_masked(sweep, band, whole_end, end, observer);
        } else {
            run_masked(sweep, band, 1, end, observer);
        }
        return observer.most();
    }
};

}  // namespace lanewise::wavefront
