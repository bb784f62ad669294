// SPDX-License-Identifier: BSD-3-Clause
//
// Direction: from which corner of a matrix an iteration begins.
//
// What lies between that corner and a cell is new when the cell is updated. Symmetric
// Gauss-Seidel and SSOR alternate two opposite corners; fast sweeping alternates all four
// (Zhao, A fast sweeping method for eikonal equations, Math. Comp. 74, 2005, section 2), or all
// eight of three dimensions.

#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace lanewise::wavefront {

struct Direction {
    bool up = false;   /* from the last row to the first */
    bool left = false; /* in each row, or line, from the last column to the first */
    bool back = false; /* in each plane of three dimensions from the last line to the first */
    bool operator==(const Direction&) const = default;
};

/* One for each iteration; after the last the first again. Never empty. */
using Directions = std::vector<Direction>;

/* Whether every iteration goes down and right. */
bool is_plain(const Directions& directions);

/* Whether an iteration goes from the last line of planes to the first. */
bool needs_planes(const Directions& directions);

/* "symmetric,down-left": names of directions and of orders of them, one after the other. */
Result<Directions> parse_directions(const std::string& text);
/* A text that parse_directions reads, the name of an order where it has one. */
std::string directions_text(const Directions& directions);
/* All names that parse_directions knows, separated by commas. */
std::string direction_names();

}  // namespace lanewise::wavefront
