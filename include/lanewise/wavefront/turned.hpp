// SPDX-License-Identifier: BSD-3-Clause
//
// Turned: eight rows at once in the skewed layout, in the directions other than down and right.
//
// Eight cells that are updated at once are a slice: lane l has row l and column p + lean l. Where a
// sweep begins at the lower right corner, slices are the vectors of the layout, from the last to
// the first. Where it begins at one of the other two corners, slices cross the vectors: the next
// row lags to the other side, and each lane of a slice lies in a vector of its own, 2 s beyond that
// of the lane before, s being the skew. Lanes are then read and written one by one, which fits into
// the time that a cell waits for the one before it. So a store serves all directions as it lies,
// and waves that turn within their rows share a pass.
//
// A step counts slices in the direction of the iteration, as skewed.hpp counts vectors: what is
// said there about skews holds for what a cell reads in the mirror.
// This header is compiled once for each instruction set, and calls no function of the library.

#pragma once

#include <lanewise/wavefront/skewed.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lanewise::wavefront {

/* Where an iteration goes. */
struct Heading {
    bool up = false;
    bool left = false;
};

/* The cells of a slice one after the other: those of the interior that it has. */
template <typename Isa, typename Real, typename Cell, unsigned skew>
struct Singly {
    using Straight = Skewed<Isa, Real, Cell, skew>;
    using Vector = typename Straight::Vector;
    using Index = typename Straight::Index;
    static constexpr Index lanes = Straight::lanes;
    static constexpr Index radius = Straight::radius;

    struct Change {
        Vector before{};
        Vector after{};
    };

    /* The values around lane `lane` in column `column`. */
    struct Around {
        const RowBlock& row_block;
        Index lane;
        Index column;
        bool up;
        Real *at(unsigned matrix, Index down, Index right) const {
            const Index row = lane + down;
            const bool earlier = up ? row >= lanes : row < 0;
            const bool later = up ? row < 0 : row >= lanes;
            auto *const bytes = (earlier ? row_block.above
                                 : later ? row_block.below
                                         : row_block.here)[matrix];
            const Index l = (row + lanes) % lanes;
            return reinterpret_cast<Real *>(bytes) + (column + right + Straight::lag * l) * lanes +
                   l;
        }
        Real operator()(int down, int right) const { return *at(0, down, right); }
    };

    [[gnu::noinline]] static Change update(const Cell& cell, const RowBlock& row_block, Index p,
                                           Index lean, Heading heading) {
        Change change;
        for (Index n = 0; n < lanes; ++n) {
            const Index lane = heading.up ? lanes - 1 - n : n;
            const Index column = p + lean * lane;
            const auto row = static_cast<Index>(row_block.first_row) + n;
            if (row < static_cast<Index>(row_block.rows_before) + radius ||
                row + radius >= static_cast<Index>(row_block.rows) || column < radius ||
                column + radius >= static_cast<Index>(row_block.columns))
                continue;
            const Around around{row_block, lane, column, heading.up};
            const auto coefficient = [&](unsigned m) { return *around.at(1 + m, 0, 0); };
            Real *const here = around.at(0, 0, 0);
            change.before[lane] = *here;
            *here = static_cast<Real>(cell(around, coefficient));
            change.after[lane] = *here;
        }
        return change;
    }
};

template <typename Isa, typename Real, typename Cell, unsigned skew, Heading heading>
struct Turned {
    using Straight = Skewed<Isa, Real, Cell, skew>;
    using Vector = typename Straight::Vector;
    using Index = typename Straight::Index;
    static constexpr Index lanes = Straight::lanes;
    static constexpr Index lag = Straight::lag;
    static constexpr Index radius = Straight::radius;
    static constexpr bool crossing = heading.up != heading.left;
    static constexpr Index lean = crossing ? lag : -lag;
    static constexpr Index vectors_apart = lean + lag; /* from lane to lane of a slice */
    static constexpr Index ahead = heading.left ? -1 : 1;
    static constexpr Index first_lane = heading.up ? lanes - 1 : 0; /* that of its first row */

    // Lanes [from, end) of slice p of a row block; the others are not needed, and may not exist.
    LW_WAVEFRONT_INLINED static Vector load(const Real *row_block, Index p, Index from = 0,
                                            Index end = lanes) {
        if constexpr (!crossing) return reinterpret_cast<const Vector *>(row_block)[p];
        const auto lane = [&](Index l) {
            return l >= from && l < end ? row_block[(p + vectors_apart * l) * lanes + l] : Real(0);
        };
        return Vector{lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7)};
    }
    LW_WAVEFRONT_INLINED static void store(Real *row_block, Index p, const Vector& values) {
        if constexpr (crossing) {
#pragma GCC unroll 8
            for (Index l = 0; l < lanes; ++l)
                row_block[(p + vectors_apart * l) * lanes + l] = values[l];
        } else {
            reinterpret_cast<Vector *>(row_block)[p] = values;
        }
    }

    // The state of one row block's sweep, up to the slice before p being done.
    struct Sweep {
        Real *data;
        const Real *above; /* as the rows lie, whatever the direction */
        const Real *below;
        const Real *coefficients[Cell::coefficients > 0 ? Cell::coefficients : 1];
        Vector last; /* just computed */
        Vector here; /* slice p and the one ahead, as they were */
        Vector next;
    };

    static Sweep of(const RowBlock& row_block) {
        const auto values = [](std::byte *bytes) { return reinterpret_cast<Real *>(bytes); };
        Sweep sweep{values(row_block.here[0]),
                    values((heading.up ? row_block.below : row_block.above)[0]),
                    values((heading.up ? row_block.above : row_block.below)[0]),
                    {},
                    {},
                    {},
                    {}};
        for (unsigned m = 0; m < Cell::coefficients; ++m)
            sweep.coefficients[m] = values(row_block.here[1 + m]);
        return sweep;
    }

    // The slice of a step.
    static Index slice(const RowBlock& row_block, Index step) {
        const Index column = heading.left ? static_cast<Index>(row_block.columns) - 1 - step : step;
        return column - lean * first_lane;
    }

    // Every cell around slice p exists.
    struct Inside {
        const Sweep& sweep;
        Index p;
        LW_WAVEFRONT_INLINED Vector operator()(int down, int right) const {
            const Index offset = right - lean * down;
            const Vector own = offset == -ahead ? sweep.last
                               : offset == 0    ? sweep.here
                               : offset == ahead
                                   ? sweep.next
                                   : load(sweep.data, p + offset, Straight::at_least(down, 0),
                                          lanes + Straight::at_most(down, 0));
            return Straight::moved(down, own, other(down, offset));
        }
        // Of the lanes that fall off the row block.
        LW_WAVEFRONT_INLINED Vector other(int down, Index offset) const {
            if (down < 0) return load(sweep.above, p + offset - lanes * lean, lanes + down, lanes);
            if (down > 0) return load(sweep.below, p + offset + lanes * lean, 0, down);
            return Vector{};
        }
    };

    // Steps [first, end), where every lane holds an interior cell.
    template <typename Observer>
    LW_WAVEFRONT_FLATTENED static void run_whole(const Cell& cell, const RowBlock& row_block,
                                                 Index first, Index end, Observer& observer) {
        Sweep s = of(row_block);
        Observer seen = observer;
        Index p = slice(row_block, first);
        s.last = load(s.data, p - ahead);
        s.here = load(s.data, p);
        for (Index n = first; n < end; ++n, p += ahead) {
            s.next = load(s.data, p + ahead);
            const auto coefficient = [&](unsigned m) { return load(s.coefficients[m], p); };
            const Vector after = cell(Inside{s, p}, coefficient);
            store(s.data, p, after);
            seen.see(s.here, after);
            s.last = after;
            s.here = s.next;
        }
        observer = seen;
    }

    // Where some lanes hold cells of the border or none at all.
    template <typename Observer>
    static void run_singly(const Cell& cell, const RowBlock& row_block, Index first, Index end,
                           Observer& observer) {
        for (Index n = first; n < end; ++n) {
            const auto change = Singly<Isa, Real, Cell, skew>::update(
                cell, row_block, slice(row_block, n), lean, heading);
            observer.see(change.before, change.after);
        }
    }

    static bool whole_rows(const RowBlock& row_block) {
        const auto first = static_cast<Index>(row_block.first_row);
        return first >= static_cast<Index>(row_block.rows_before) + radius &&
               first + lanes + radius <= static_cast<Index>(row_block.rows);
    }

    template <typename Observer>
    static void run(const Cell& cell, const RowBlock& row_block, Index first, Index end,
                    Observer& observer) {
        const Index whole_first = whole_rows(row_block) ? Straight::whole_from(first) : end;
        const Index whole_end = Straight::whole_until(end, row_block);
        if (whole_first >= whole_end) return run_singly(cell, row_block, first, end, observer);
        run_singly(cell, row_block, first, whole_first, observer);
        run_whole(cell, row_block, whole_first, whole_end, observer);
        run_singly(cell, row_block, whole_end, end, observer);
    }

    // StepFunction: waves that go in this direction, one after the other.
    template <typename Observer>
    static void update(const void *parameters, const Step& step) {
        const Cell& cell = *static_cast<const Cell *>(parameters);
        const auto [first, end] = Straight::with_interior(step);
        if (first >= end) return;
        for (std::uint32_t i = 0; i < step.count; ++i) {
            Observer observer;
            run(cell, step.row_blocks[i], first, end, observer);
            if (!step.changes) continue;
            const double change = observer.most();
            if (change > step.changes[i]) step.changes[i] = change;
        }
    }
};

/* StepFunction of a kernel that goes in every direction. */
template <typename Isa, typename Real, typename Cell, unsigned skew, typename Observer>
void update_in_its_direction(const void *cell, const Step& step) {
    const RowBlock& first = step.row_blocks[0];
    if (first.up && first.leftwards)
        Turned<Isa, Real, Cell, skew, Heading{true, true}>::template update<Observer>(cell, step);
    else if (first.up)
        Turned<Isa, Real, Cell, skew, Heading{true, false}>::template update<Observer>(cell, step);
    else if (first.leftwards)
        Turned<Isa, Real, Cell, skew, Heading{false, true}>::template update<Observer>(cell, step);
    else
        Skewed<Isa, Real, Cell, skew>::template update<Observer>(cell, step);
}

}  // namespace lanewise::wavefront

#pragma GCC diagnostic pop
