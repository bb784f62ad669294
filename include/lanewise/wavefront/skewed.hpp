// SPDX-License-Identifier: BSD-3-Clause
//
// Skewed: eight rows of a Gauss-Seidel sweep at once, in the skewed layout.
//
// Vector t of a row block holds element (l, t - s l) in lane l, s being the skew. When
// vector t is computed, all it needs is at hand: the cell to the left is vector
// t - 1 just computed; one `down` rows lower and `right` columns to the right is
// vector t + right + s down moved by `down` lanes, those that fall off the row block
// filled from the row block above or below. One shuffle for each cell of another row,
// no gather, and each lane evaluates the very expression of the scalar sweep.
// What a cell reads updated must lie before t, and the rest not: s = 1 is enough
// unless a north-eastern neighbour is read, and radius + 1 always is.
//
// A cell waits for its western neighbour, some thirty cycles on any processor.
// So up to four waves advance in lockstep, each a row block behind the one before:
// wave k at vector t needs of the wave before nothing beyond t, and four chains
// of additions fill the time that one of them waits.
//
// `Cell` has its radius, 7 at most, and is called with u(down, right) and
// c(m), its coefficients.
//
// This header is compiled once for each instruction set. `Isa` is a type private
// to the translation unit, so that no instance is shared between them, and no
// function of the standard library is called for the same reason.

#pragma once

#include <lanewise/wavefront/row_block.hpp>

// Vectors wider than the processor's are passed in memory, which does not matter once inlined.
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

template <typename Isa, typename Real, typename Cell, unsigned skew = 1>
struct Skewed {
    using Vector = typename Lanes<Real>::Vector;
    using Mask = typename Lanes<Real>::Mask;
    using Index = std::int64_t;
    static constexpr Index lanes = 8;
    static constexpr Index lag = skew;
    static constexpr Index radius = Cell::radius;
    static_assert(radius >= 1 && radius < lanes,
                  "what a row block reads lies in the blocks above and below it");
    static_assert(lag >= 1 && radius < lag * (lanes - radius),
                  "a wave in lockstep reads nothing that the next one has written");

    // The state of one row block's sweep, vectors up to t - 1 being done.
    struct Sweep {
        Vector *data;
        const Vector *above;
        const Vector *below;
        const Vector *coefficients[Cell::coefficients > 0 ? Cell::coefficients : 1];
        Vector west;
    };

    // Lanes moved towards the last one, the first `by` filled with the last ones of `above`.
    template <int by>
    LW_WAVEFRONT_INLINED static Vector moved_up(const Vector& own, const Vector& above) {
        constexpr int n = 16 - by;
        return __builtin_shufflevector(own, above, by > 0 ? n : 0, by > 1 ? n + 1 : 1 - by,
                                       by > 2 ? n + 2 : 2 - by, by > 3 ? n + 3 : 3 - by,
                                       by > 4 ? n + 4 : 4 - by, by > 5 ? n + 5 : 5 - by,
                                       by > 6 ? n + 6 : 6 - by, 7 - by);
    }
    // Towards the first one, the last `by` filled with the first ones of `below`.
    template <int by>
    LW_WAVEFRONT_INLINED static Vector moved_down(const Vector& own, const Vector& below) {
        return __builtin_shufflevector(own, below, by, by + 1, by + 2, by + 3, by + 4, by + 5,
                                       by + 6, by + 7);
    }
    // `by` is a constant once this is inlined.
    LW_WAVEFRONT_INLINED static Vector moved(int by, const Vector& own, const Vector& other) {
        switch (by) {
            case -7: return moved_up<7>(own, other);
            case -6: return moved_up<6>(own, other);
            case -5: return moved_up<5>(own, other);
            case -4: return moved_up<4>(own, other);
            case -3: return moved_up<3>(own, other);
            case -2: return moved_up<2>(own, other);
            case -1: return moved_up<1>(own, other);
            case 1: return moved_down<1>(own, other);
            case 2: return moved_down<2>(own, other);
            case 3: return moved_down<3>(own, other);
            case 4: return moved_down<4>(own, other);
            case 5: return moved_down<5>(own, other);
            case 6: return moved_down<6>(own, other);
            case 7: return moved_down<7>(own, other);
            default: return own;
        }
    }

    // Whether every vector around the one computed exists.
    struct Inside {
        LW_WAVEFRONT_INLINED Vector operator()(const Vector *vectors, Index at) const {
            return vectors[at];
        }
    };
    struct Anywhere {
        Index count;
        LW_WAVEFRONT_INLINED Vector operator()(const Vector *vectors, Index at) const {
            return at >= 0 && at < count ? vectors[at] : Vector{};
        }
    };

    template <typename Load>
    struct Neighbours {
        const Sweep& sweep;
        Index t;
        Load load;
        LW_WAVEFRONT_INLINED Vector operator()(int down, int right) const {
            const Index ahead = right + lag * down;
            const Vector own = ahead == -1 ? sweep.west : load(sweep.data, t + ahead);
            if (down < 0) return moved(down, own, load(sweep.above, t + ahead + lanes * lag));
            if (down > 0) return moved(down, own, load(sweep.below, t + ahead - lanes * lag));
            return own;
        }
    };
    struct Coefficients {
        const Vector *const *matrices;
        Index at;
        LW_WAVEFRONT_INLINED Vector operator()(unsigned matrix) const {
            return matrices[matrix][at];
        }
    };

    struct Largest {
        Vector value{};
        LW_WAVEFRONT_INLINED void see(const Vector& before, const Vector& after) {
            const Vector change = after > before ? after - before : before - after;
            const Vector infinite = Vector{} + static_cast<Real>(__builtin_inf());
            const Vector number = change < infinite ? change : infinite;
            const Vector sound = before == after ? Vector{} : number;
            value = sound > value ? sound : value;
        }
        double most() const {
            Real found = 0;
            for (Index l = 0; l < lanes; ++l) found = value[l] > found ? value[l] : found;
            return static_cast<double>(found);
        }
    };
    struct Nothing {
        LW_WAVEFRONT_INLINED void see(const Vector& /*before*/, const Vector& /*after*/) {}
        double most() const { return 0.0; }
    };

    // Everything left of vector `first` is done; it lies in memory.
    static Sweep begin_at(const RowBlock& row_block, Index first) {
        const auto vectors = [](std::byte *bytes) { return reinterpret_cast<Vector *>(bytes); };
        Sweep sweep{vectors(row_block.here[0]),
                    vectors(row_block.above[0]),
                    vectors(row_block.below[0]),
                    {},
                    {}};
        for (unsigned m = 0; m < Cell::coefficients; ++m)
            sweep.coefficients[m] = vectors(row_block.here[1 + m]);
        sweep.west = sweep.data[first - 1];
        return sweep;
    }

    // Vectors [first, end) of `count` waves in lockstep: every lane holds an interior cell.
    template <unsigned count, typename Observer>
    LW_WAVEFRONT_FLATTENED static void run_whole(const Cell& cell, const RowBlock *row_blocks,
                                                 Index first, Index end, Observer *observers) {
        Sweep sweeps[count];
        Observer seen[count];
        for (unsigned i = 0; i < count; ++i) {
            sweeps[i] = begin_at(row_blocks[i], first);
            seen[i] = observers[i];
        }
        for (Index t = first; t < end; ++t) {
#pragma GCC unroll 4
            for (unsigned i = 0; i < count; ++i) {
                Sweep& s = sweeps[i];
                const Vector before = s.data[t];
                const Vector after =
                    cell(Neighbours<Inside>{s, t, {}}, Coefficients{s.coefficients, t});
                s.data[t] = after;
                seen[i].see(before, after);
                s.west = after;
            }
        }
        for (unsigned i = 0; i < count; ++i) observers[i] = seen[i];
    }

    // Vectors [first, end) where some lanes hold cells of the border or none at all.
    template <typename Observer>
    LW_WAVEFRONT_FLATTENED static void run_masked(const Cell& cell, const RowBlock& row_block,
                                                  Index first, Index end, Observer& observer) {
        if (first >= end) return;
        Sweep sweep = begin_at(row_block, first);
        const Anywhere load{static_cast<Index>(row_block.columns) + (lanes - 1) * lag};
        for (Index t = first; t < end; ++t) {
            const Vector before = sweep.data[t];
            const Vector after =
                cell(Neighbours<Anywhere>{sweep, t, load}, Coefficients{sweep.coefficients, t});
            const Mask inside = interior(row_block, t);
            const Vector kept = inside ? after : before;
            sweep.data[t] = kept;
            // A NaN of the border stays and is no change, though it differs from itself.
            observer.see(inside ? before : Vector{}, inside ? after : Vector{});
            sweep.west = kept;
        }
    }

    static Mask interior(const RowBlock& row_block, Index t) {
        Mask mask{};
        for (Index l = 0; l < lanes; ++l) {
            const auto row = static_cast<Index>(row_block.first_row) + l;
            const auto column = t - lag * l;
            const bool inside =
                row >= radius && row + radius < static_cast<Index>(row_block.rows) &&
                column >= radius && column + radius < static_cast<Index>(row_block.columns);
            mask[l] = inside ? -1 : 0;
        }
        return mask;
    }

    static bool whole_rows(const RowBlock& row_block) {
        const auto first = static_cast<Index>(row_block.first_row);
        return first >= radius && first + lanes + radius <= static_cast<Index>(row_block.rows);
    }
    // Where every lane holds an interior column.
    static Index whole_from(Index first) {
        return at_least(first, radius + (lanes - 1) * lag);
    }
    static Index whole_until(Index end, const RowBlock& row_block) {
        return at_most(end, static_cast<Index>(row_block.columns) - radius);
    }

    static Index at_most(Index value, Index limit) {
        return value < limit ? value : limit;
    }
    static Index at_least(Index value, Index limit) {
        return value > limit ? value : limit;
    }
    static Index at_most_unsigned(std::uint64_t value, Index limit) {
        return value < static_cast<std::uint64_t>(limit) ? static_cast<Index>(value) : limit;
    }

    // One wave: its borders masked, the rest whole where its rows are.
    template <typename Observer>
    static void run_one(const Cell& cell, const RowBlock& row_block, Index first, Index end,
                        Observer& observer) {
        const Index whole_first = whole_rows(row_block) ? whole_from(first) : end;
        const Index whole_end = whole_until(end, row_block);
        if (whole_first >= whole_end) return run_masked(cell, row_block, first, end, observer);
        run_masked(cell, row_block, first, whole_first, observer);
        run_whole<1>(cell, &row_block, whole_first, whole_end, &observer);
        run_masked(cell, row_block, whole_end, end, observer);
    }

    // `count` waves: the whole part of all in lockstep, what lies beside it one by one.
    template <unsigned count, typename Observer>
    static void run_some(const Cell& cell, const RowBlock *row_blocks, Index first, Index end,
                         Observer *observers) {
        const Index whole_first = whole_from(first);
        const Index whole_end = whole_until(end, row_blocks[0]);
        bool whole = whole_first < whole_end;
        for (unsigned i = 0; i < count; ++i) whole = whole && whole_rows(row_blocks[i]);
        if (!whole) {
            for (unsigned i = 0; i < count; ++i)
                run_one(cell, row_blocks[i], first, end, observers[i]);
            return;
        }
        for (unsigned i = 0; i < count; ++i)
            run_masked(cell, row_blocks[i], first, whole_first, observers[i]);
        run_whole<count>(cell, row_blocks, whole_first, whole_end, observers);
        for (unsigned i = 0; i < count; ++i)
            run_masked(cell, row_blocks[i], whole_end, end, observers[i]);
    }

    // The steps, of those asked for, in which some lane holds an interior cell.
    struct Steps {
        Index first;
        Index end;
    };
    static Steps with_interior(const Step& step) {
        const auto columns = static_cast<Index>(step.row_blocks[0].columns);
        const auto rows = static_cast<Index>(step.row_blocks[0].rows);
        if (columns <= 2 * radius || rows <= 2 * radius) return {0, 0};
        const Index last = columns - radius + (lanes - 1) * lag;
        return {at_least(at_most_unsigned(step.first, last), radius),
                at_most_unsigned(step.end, last)};
    }

    // StepFunction.
    template <typename Observer>
    static void update(const void *parameters, const Step& step) {
        const Cell& cell = *static_cast<const Cell *>(parameters);
        const auto [first, end] = with_interior(step);
        if (first >= end) return;
        for (std::uint32_t i = 0; i < step.count;) {
            const RowBlock *const row_blocks = step.row_blocks + i;
            Observer observers[4];
            std::uint32_t taken = 1;
            if (step.count - i >= 4) {
                run_some<4>(cell, row_blocks, first, end, observers);
                taken = 4;
            } else if (step.count - i >= 2) {
                run_some<2>(cell, row_blocks, first, end, observers);
                taken = 2;
            } else {
                run_one(cell, row_blocks[0], first, end, observers[0]);
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
