// SPDX-License-Identifier: BSD-3-Clause
//
// Slices: how a vector that crosses between sites is cut. Slice l crosses on lane l; each slice
// travels in segments, so that the stages of its way overlap.

#pragma once

#include <cstdint>
#include <vector>

#include "collectives/call_shape.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* The size of segments over lanes where the shape leaves the choice. Large against what a message
   costs, small against what a lane has under way. */
inline constexpr std::int64_t lane_segment_bytes = std::int64_t{256} * 1024;

/* A segment of a slice. All ranks know it by its position in one order. */
struct SliceSegment {
    std::int64_t offset = 0; /* into the vector */
    std::int64_t count = 0;
    int slice = 0;

    model::Slice in(model::Place place) const { return {place, offset}; }
};

/* The vector of the shape in `slices` slices: the first segment of each, then the second of each,
   and so on, so that all lanes are busy from the start. */
std::vector<SliceSegment> segments_of_slices(const CallShape& shape, int slices);

}  // namespace lanewise::collectives
