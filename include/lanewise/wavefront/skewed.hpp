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
// A cell waits for its western neighbour, some thirty cycles on any processor.
// So up to four waves advance in lockstep, each a band behind the one before:
// wave k at vector t needs the wave before at t - 7 only, and four chains of
// additions fill the time that one of them waits.
//
// `Cell` is called with u(down, right), of which every neighbour but the north-eastern one exists
// here (the same instruction would compute it), and c(m), its coefficients.
//
// This header is compiled once for each instruction set. `Isa` is a type private
// to the translation unit, so that no instance is shared between them, and no
// function of the standard library is called for the same reason.

#pragma once

#include <lanewise/wavefront/band.hpp>

// Vectors wider than the processor's are passed in memory: said once for all who include this.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

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

    // Every neighbour but the north-eastern one, which the same instruction would compute.
    struct Neighbours {
        const Vector& north_west;
        const Vector& north;
        const Vector& west;
        const Vector& center;
        const Vector& east;
        const Vector& south_west;
        const Vector& south;
        const Vector& south_east;
        [[gnu::always_inline]] Vector operator()(int down, int right) const {
            if (down < 0) return right < 0 ? north_west : north;
            if (down > 0) return right < 0 ? south_west : right > 0 ? south_east : south;
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
        Vector *data;
        const Vector *above;
        const Vector *below;
        const Vector *coefficients[Cell::coefficients > 0 ? Cell::coefficients : 1];
        Vector west;
        Vector center;
        Vector north_before;
    };

    [[gnu::always_inline]] static Vector northern(const Vector& west, const Vector& above) {
        return __builtin_shufflevector(west, above, 15, 0, 1, 2, 3, 4, 5, 6);
    }
    [[gnu::always_inline]] static Vector southern(const Vector& east, const Vector& below) {
        return __builtin_shufflevector(east, below, 1, 2, 3, 4, 5, 6, 7, 8);
    }

    // Everything left of vector `first` is done; it lies in memory.
    static Sweep begin_at(const Band& band, Index first) {
        const auto vectors = [](std::byte *bytes) { return reinterpret_cast<Vector *>(bytes); };
        Sweep sweep{
            vectors(band.here[0]), vectors(band.above[0]), vectors(band.below[0]), {}, {}, {}, {}};
        for (unsigned m = 0; m < Cell::coefficients; ++m)
            sweep.coefficients[m] = vectors(band.here[1 + m]);
        const Index last_vector = static_cast<Index>(band.columns) + lanes - 2;
        sweep.west = sweep.data[first - 1];
        sweep.center = sweep.data[first];
        // Lane 0 of the first north-west is the corner above the first interior cell.
        sweep.north_before =
            northern(first > 1 ? sweep.data[first - 2] : Vector{},
                     first + lanes - 2 <= last_vector ? sweep.above[first + lanes - 2] : Vector{});
        return sweep;
    }

    // Vectors [first, end) of `count` waves in lockstep: every lane holds an interior cell.
    template <unsigned count, typename Observer>
    static void run_whole(const Cell& cell, const Band *bands, Index first, Index end,
                          Observer *observers) {
        Sweep sweeps[count];
        Observer seen[count];
        for (unsigned i = 0; i < count; ++i) {
            sweeps[i] = begin_at(bands[i], first);
            seen[i] = observers[i];
        }
        for (Index t = first; t < end; ++t) {
#pragma GCC unroll 4
            for (unsigned i = 0; i < count; ++i) {
                Sweep& s = sweeps[i];
                const Vector east = s.data[t + 1];
                const Vector north = northern(s.west, s.above[t + lanes - 1]);
                const Vector south = southern(east, s.below[t - lanes + 1]);
                const Vector south_west = southern(s.center, s.below[t - lanes]);
                const Vector south_east = southern(s.data[t + 2], s.below[t - lanes + 2]);
                const Vector after = cell(Neighbours{s.north_before, north, s.west, s.center, east,
                                                     south_west, south, south_east},
                                          Coefficients{s.coefficients, t});
                s.data[t] = after;
                seen[i].see(s.center, after);
                s.north_before = north;
                s.west = after;
                s.center = east;
            }
        }
        for (unsigned i = 0; i < count; ++i) observers[i] = seen[i];
    }

    // Vectors [first, end) where some lanes hold cells of the border or none at all.
    template <typename Observer>
    static void run_masked(const Cell& cell, const Band& band, Index first, Index end,
                           Observer& observer) {
        if (first >= end) return;
        Sweep sweep = begin_at(band, first);
        const Index last_vector = static_cast<Index>(band.columns) + lanes - 2;
        for (Index t = first; t < end; ++t) {
            const auto own = [&](Index at) {
                return at <= last_vector ? sweep.data[at] : Vector{};
            };
            const auto lower = [&](Index at) { return at >= 0 ? sweep.below[at] : Vector{}; };
            const Vector east = own(t + 1);
            const Vector north = northern(
                sweep.west, t + lanes - 1 <= last_vector ? sweep.above[t + lanes - 1] : Vector{});
            const Vector south = southern(east, lower(t - lanes + 1));
            const Vector south_west = southern(sweep.center, lower(t - lanes));
            const Vector south_east = southern(own(t + 2), lower(t - lanes + 2));
            const Vector after = cell(Neighbours{sweep.north_before, north, sweep.west,
                                                 sweep.center, east, south_west, south, south_east},
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

    static bool whole_rows(const Band& band) {
        return band.first_row > 0 && band.first_row + lanes < band.rows;
    }

    static Index at_most(Index value, Index limit) {
        return value < limit ? value : limit;
    }
    static Index at_least(Index value, Index limit) {
        return value > limit ? value : limit;
    }

    // One wave: its borders masked, the rest whole where its rows are.
    template <typename Observer>
    static void run_one(const Cell& cell, const Band& band, Index first, Index end,
                        Observer& observer) {
        const Index columns = static_cast<Index>(band.columns);
        const Index whole_first = whole_rows(band) ? at_least(first, lanes) : end;
        const Index whole_end = at_most(end, columns - 1);
        if (whole_first >= whole_end) return run_masked(cell, band, first, end, observer);
        run_masked(cell, band, first, whole_first, observer);
        run_whole<1>(cell, &band, whole_first, whole_end, &observer);
        run_masked(cell, band, whole_end, end, observer);
    }

    // `count` waves: the whole part of all in lockstep, what lies beside it one by one.
    template <unsigned count, typename Observer>
    static void run_some(const Cell& cell, const Band *bands, Index first, Index end,
                         Observer *observers) {
        const Index whole_first = at_least(first, lanes);
        const Index whole_end = at_most(end, static_cast<Index>(bands[0].columns) - 1);
        bool whole = whole_first < whole_end;
        for (unsigned i = 0; i < count; ++i) whole = whole && whole_rows(bands[i]);
        if (!whole) {
            for (unsigned i = 0; i < count; ++i) run_one(cell, bands[i], first, end, observers[i]);
            return;
        }
        for (unsigned i = 0; i < count; ++i)
            run_masked(cell, bands[i], first, whole_first, observers[i]);
        run_whole<count>(cell, bands, whole_first, whole_end, observers);
        for (unsigned i = 0; i < count; ++i)
            run_masked(cell, bands[i], whole_end, end, observers[i]);
    }

    // StepFunction.
    template <typename Observer>
    static void update(const void *parameters, const Step& step) {
        const Cell& cell = *static_cast<const Cell *>(parameters);
        const auto columns = static_cast<Index>(step.bands[0].columns);
        if (columns < 3 || step.bands[0].rows < 3) return;
        const Index last = columns + lanes - 2;
        const Index first = step.first < 1 ? 1 : static_cast<Index>(step.first);
        const Index end =
            step.end > static_cast<std::uint64_t>(last) ? last : static_cast<Index>(step.end);
        for (std::uint32_t i = 0; i < step.count;) {
            const Band *const bands = step.bands + i;
            Observer observers[4];
            std::uint32_t taken = 1;
            if (step.count - i >= 4) {
                run_some<4>(cell, bands, first, end, observers);
                taken = 4;
            } else if (step.count - i >= 2) {
                run_some<2>(cell, bands, first, end, observers);
                taken = 2;
            } else {
                run_one(cell, bands[0], first, end, observers[0]);
            }
            for (std::uint32_t k = 0; k < taken && step.changes; ++k) {
                const double change = observers[k].most();
                if (change > step.changes[i + k]) step.changes[i + k] = change;
            }
            i += taken;
        }
    }
};

}  // namespace lanewise::wavefront

#pragma GCC diagnostic pop
