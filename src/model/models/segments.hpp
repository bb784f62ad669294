// SPDX-License-Identifier: BSD-3-Clause
//
// Segments: a curve as lines, each over a range of sizes, where an MPI changes its protocol or the
// memory its speed.
//
// The segments are those with the least sum of squared relative errors, plus a price for each, so
// that noise does not make one. Dynamic programming finds them: Bellman, "On the approximation of
// curves by line segments using dynamic programming", Communications of the ACM 4(6), 1961.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/models/line.hpp"

namespace lanewise::model {

struct Segment {
    double from = 0.0; /* x of the switch from the segment before; 0 for the first */
    std::size_t begin = 0;
    std::size_t end = 0; /* marks begin ... end - 1 */
    Line line;
};

/* `marks` in rising order of x, at least two; a segment has at least two of them. `beside` are
   those of another curve, in rising order of x as well, which has lines of its own over the same
   ranges: its errors count as much, so that a range may also begin where only this curve bends. */
std::vector<Segment> find_segments(std::span<const Mark> marks, std::span<const Mark> beside = {});

}  // namespace lanewise::model
