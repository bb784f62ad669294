// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/slices.hpp"

#include <algorithm>

#include "collectives/blocks.hpp"

namespace lanewise::collectives {

std::vector<SliceSegment> segments_of_slices(const CallShape& shape, int slices) {
    std::vector<SliceSegment> found;
    const auto piece = segments_of(shape, shape.count, lane_segment_bytes).piece;
    const Bounds bounds(shape.count, slices);
    for (std::int64_t done = 0; done < bounds.size(0); done += piece) {
        for (int slice = 0; slice < slices; ++slice) {
            const auto count = std::min(piece, bounds.size(slice) - done);
            if (count > 0) found.push_back({bounds[slice] + done, count, slice});
        }
    }
    return found;
}

}  // namespace lanewise::collectives
