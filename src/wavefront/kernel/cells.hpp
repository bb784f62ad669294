// SPDX-License-Identifier: BSD-3-Clause
//
// Cells: the update of one cell, written once, for one value or for a vector.
//
// A cell is called with `u(di, dj)`, the data di rows below and dj columns to
// the right, and `c(m)`, coefficient m at the cell itself. In a sweep that
// `updates` in place, the cells above and to the left are already new. Every
// expression has fixed parentheses and is compiled with -ffp-contract=off:
// each form of the same cell gives the same bits.

#pragma once

namespace lanewise::wavefront {

enum class Reads { updated, previous };

/* Livermore loop 23 as Clauss, Gustedt and Suter (PDP 2008) write it in figure 1; coefficients zb,
 * zv, zu, zr, zz. */
template <typename Real>
struct Livermore23 {
    static constexpr int radius = 1;
    static constexpr Reads reads = Reads::updated;
    static constexpr unsigned coefficients = 5;
    Real relaxation = Real(0.175);

    auto operator()(const auto& u, const auto& c) const {
        const auto d = u(0, 0);
        const auto q =
            ((((u(-1, 0) * c(0) + u(0, -1) * c(1)) + u(0, 1) * c(2)) + u(1, 0) * c(3)) + c(4)) - d;
        return d + relaxation * q;
    }
};

/* Successive over-relaxation of Poisson's equation; coefficient h^2 f. */
template <typename Real>
struct SuccessiveOverRelaxation {
    static constexpr int radius = 1;
    static constexpr Reads reads = Reads::updated;
    static constexpr unsigned coefficients = 1;
    Real kept = Real(-0.5);     /* 1 - omega */
    Real quarter = Real(0.375); /* omega / 4 */

    auto operator()(const auto& u, const auto& c) const {
        const auto sum = (((u(-1, 0) + u(0, -1)) + u(0, 1)) + u(1, 0)) - c(0);
        return kept * u(0, 0) + quarter * sum;
    }
};

/* Successive over-relaxation with the nine-point formula; coefficient 6 h^2 f. */
template <typename Real>
struct NinePoint {
    static constexpr int radius = 1;
    static constexpr Reads reads = Reads::updated;
    static constexpr unsigned coefficients = 1;
    Real kept = Real(-0.5);   /* 1 - omega */
    Real share = Real(0.075); /* omega / 20 */

    auto operator()(const auto& u, const auto& c) const {
        const auto edges = ((u(-1, 0) + u(0, -1)) + u(0, 1)) + u(1, 0);
        const auto corners = ((u(-1, -1) + u(-1, 1)) + u(1, -1)) + u(1, 1);
        return kept * u(0, 0) + share * ((Real(4) * edges + corners) - c(0));
    }
};

/* Successive over-relaxation of the fourth order, with a stencil radius of two; coefficient 12 h^2
 * f.
 */
template <typename Real>
struct FourthOrder {
    static constexpr int radius = 2;
    static constexpr Reads reads = Reads::updated;
    static constexpr unsigned coefficients = 1;
    Real kept = Real(-0.5);   /* 1 - omega */
    Real share = Real(0.025); /* omega / 60 */

    auto operator()(const auto& u, const auto& c) const {
        const auto near = ((u(-1, 0) + u(0, -1)) + u(0, 1)) + u(1, 0);
        const auto far = ((u(-2, 0) + u(0, -2)) + u(0, 2)) + u(2, 0);
        return kept * u(0, 0) + share * ((Real(16) * near - far) - c(0));
    }
};

/* Jacobi's iteration for the same equation: every neighbour is of the iteration before. */
template <typename Real>
struct Jacobi {
    static constexpr int radius = 1;
    static constexpr Reads reads = Reads::previous;
    static constexpr unsigned coefficients = 1;
    Real quarter = Real(0.25);

    auto operator()(const auto& u, const auto& c) const {
        return quarter * ((((u(-1, 0) + u(0, -1)) + u(0, 1)) + u(1, 0)) - c(0));
    }
};

/* Smith and Waterman's table of local alignments with a linear gap; coefficient: the score of the
 * pair of letters. One iteration fills the table from a border of zeros. */
template <typename Real>
struct SmithWaterman {
    static constexpr int radius = 1;
    static constexpr Reads reads = Reads::updated;
    static constexpr unsigned coefficients = 1;
    Real gap = Real(2);

    auto operator()(const auto& u, const auto& c) const {
        const auto pair = u(-1, -1) + c(0);
        const auto from_above = u(-1, 0) - gap;
        const auto from_left = u(0, -1) - gap;
        const auto one_gap = from_above > from_left ? from_above : from_left;
        const auto best = pair > one_gap ? pair : one_gap;
        // Zero, also of a vector. NOLINTNEXTLINE(misc-redundant-expression)
        const auto nothing = best - best;
        return best > nothing ? best : nothing;
    }
};

/* First arrival times: the eikonal equation |grad u| = slowness by Godunov's upwind difference, as
 * in Zhao, A fast sweeping method for eikonal equations (Math. Comp. 74, 2005), equation 2.3, for
 * two dimensions; coefficient: h times the slowness. A cell never becomes later. Walls are cells of
 * infinite slowness; sources are 0, all others infinity at first. */
template <typename Real>
struct Eikonal {
    static constexpr int radius = 1;
    static constexpr Reads reads = Reads::updated;
    static constexpr unsigned coefficients = 1;
    Real half = Real(0.5);

    auto operator()(const auto& u, const auto& c) const {
        const auto here = u(0, 0);
        const auto west = u(0, -1);
        const auto east = u(0, 1);
        const auto north = u(-1, 0);
        const auto south = u(1, 0);
        const auto along = west < east ? west : east;
        const auto across = north < south ? north : south;
        const auto delay = c(0);
        const auto low = along < across ? along : across;
        const auto high = along < across ? across : along;
        const auto gap = high - low;
        // Where both are infinite their difference is no number, and the front comes from nowhere.
        const auto ahead = (delay + delay) * delay - gap * gap;
        const auto both = half * ((low + high) + root(ahead));
        const auto arrival = gap < delay ? both : low + delay;
        return arrival < here ? arrival : here;
    }

    [[gnu::always_inline]] static float root(float value) { return __builtin_sqrtf(value); }
    [[gnu::always_inline]] static double root(double value) { return __builtin_sqrt(value); }
    template <typename Vector>
    [[gnu::always_inline]] static Vector root(const Vector& values) {
        Vector roots = values;
        for (unsigned lane = 0; lane < sizeof(Vector) / sizeof(Real); ++lane)
            roots[lane] = root(static_cast<Real>(values[lane]));
        return roots;
    }
};

}  // namespace lanewise::wavefront
