// SPDX-License-Identifier: BSD-3-Clause
//
// Planes: three dimensions, where a row of the matrix is a plane of n1 lines of n2 cells.
//
// Waves go from plane to plane as they go from row to row in two dimensions, and a kernel that
// updates a row goes over its lines and their cells. A cell is called with `u(di, dj, dk)`, the
// data di planes below, dj lines further and dk cells to the right, and `c(m)`, coefficient m at
// the cell itself; the cells before it in the order of the iteration are already new. Expressions
// have fixed parentheses and are compiled with -ffp-contract=off.

#pragma once

#include <cstdint>
#include <utility>

#include <lanewise/wavefront/row_block.hpp>
#include "wavefront/kernel/rows.hpp"

namespace lanewise::wavefront {

/* Successive over-relaxation of Poisson's equation with the seven-point formula; coefficient
 * h^2 f. */
template <typename Real>
struct SevenPoint {
    static constexpr unsigned coefficients = 1;
    std::uint64_t line = 1;  /* cells of a line */
    Real kept = Real(-0.5);  /* 1 - omega */
    Real sixth = Real(0.25); /* omega / 6 */

    Real operator()(const auto& u, const auto& c) const {
        const Real before = (u(-1, 0, 0) + u(0, -1, 0)) + u(0, 0, -1);
        const Real after = (u(0, 0, 1) + u(0, 1, 0)) + u(1, 0, 0);
        return kept * u(0, 0, 0) + sixth * ((before + after) - c(0));
    }
};

/* First arrival times by Godunov's upwind difference in three dimensions, as in Zhao, A fast
 * sweeping method for eikonal equations (Math. Comp. 74, 2005), section 2.2; coefficient: h times
 * the slowness. Walls, sources and cells that are never reached are as in two dimensions. */
template <typename Real>
struct Eikonal3 {
    static constexpr unsigned coefficients = 1;
    std::uint64_t line = 1;

    Real operator()(const auto& u, const auto& c) const {
        const Real here = u(0, 0, 0);
        Real least = earlier(u(-1, 0, 0), u(1, 0, 0));
        Real middle = earlier(u(0, -1, 0), u(0, 1, 0));
        Real most = earlier(u(0, 0, -1), u(0, 0, 1));
        if (middle < least) std::swap(least, middle);
        if (most < middle) std::swap(middle, most);
        if (middle < least) std::swap(least, middle);
        const Real delay = c(0);
        // From one side, unless the front from the second and the third arrives in between.
        Real arrival = least + delay;
        const Real second = middle - least;
        if (arrival > middle)
            arrival =
                least + Real(0.5) * (second + root((delay + delay) * delay - second * second));
        if (arrival > most) {
            const Real third = most - least;
            const Real sum = second + third;
            const Real squares = second * second + third * third;
            arrival =
                least + (sum + root(sum * sum - Real(3) * (squares - delay * delay))) / Real(3);
        }
        return arrival < here ? arrival : here;
    }

  private:
    static Real earlier(Real one, Real other) { return one < other ? one : other; }
    static float root(float value) { return __builtin_sqrtf(value); }
    static double root(double value) { return __builtin_sqrt(value); }
};

/* The planes around a cell, and where it lies in each. */
template <typename Stored>
struct PlaneData {
    const Stored *const *planes; /* the one above, its own, and the one below */
    std::int64_t line;
    std::int64_t at;
    arithmetic_t<Stored> operator()(int down, int back, int right) const {
        return planes[down + 1][at + back * line + right];
    }
};

/* Updates the interior of a line that begins at `begin`, from its last cell where `leftwards`. */
template <typename Stored, typename Cell, typename Observer>
void update_line(const Cell& cell, Stored *out, const Stored *const *planes,
                 const Stored *const *coefficients, std::int64_t begin, Way way,
                 Observer& observer) {
    using Real = arithmetic_t<Stored>;
    const auto line = static_cast<std::int64_t>(cell.line);
    const auto update = [&](std::int64_t k) {
        const auto at = begin + k;
        const Real before = planes[1][at];
        const Stored after = cell(PlaneData<Stored>{planes, line, at},
                                  [&](unsigned m) -> Real { return coefficients[m][at]; });
        out[at] = after;
        observer.see(before, static_cast<Real>(after));
    };
    if (way == Way::leftwards) {
        for (auto k = line - 2; k > 0; --k) update(k);
    } else {
        for (std::int64_t k = 1; k + 1 < line; ++k) update(k);
    }
}

/* RowBlockFunction of a cell in three dimensions. */
template <typename Stored, typename Cell, typename Observer>
double update_planes(const void *parameters, const Step& step, const RowBlock& row_block) {
    const Cell& cell = *static_cast<const Cell *>(parameters);
    const auto line = static_cast<std::int64_t>(cell.line);
    const auto lines = static_cast<std::int64_t>(row_block.columns) / line;
    const auto way = row_block.leftwards ? Way::leftwards : Way::rightwards;
    const auto row_of = [&](std::uint32_t matrix, std::uint64_t row) {
        return reinterpret_cast<Stored *>(row_at(row_block, matrix, row));
    };
    Observer observer;
    for (auto row = row_block.first_row; row < row_block.first_row + row_block.row_count; ++row) {
        if (!is_interior(row_block, row, 1)) continue;
        const Stored *const planes[] = {row_of(row_block.reads, row_below(row_block, row, -1)),
                                        row_of(row_block.reads, row),
                                        row_of(row_block.reads, row_below(row_block, row, 1))};
        const Stored *coefficients[Cell::coefficients];
        for (unsigned m = 0; m < Cell::coefficients; ++m) coefficients[m] = row_of(1 + m, row);
        Stored *const out = row_of(row_block.writes, row);
        for (std::int64_t n = 1; n + 1 < lines; ++n) {
            const auto j = row_block.backwards ? lines - 1 - n : n;
            update_line(cell, out, planes, coefficients, j * line, way, observer);
        }
        set_border_columns(step, row_block, row, cell.line, 1, sizeof(Stored));
    }
    return static_cast<double>(observer.value);
}

}  // namespace lanewise::wavefront
