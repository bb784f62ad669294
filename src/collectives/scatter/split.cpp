// SPDX-License-Identifier: BSD-3-Clause
//
// Split scatter: linear, in rounds. Blocks are cut into pieces below M1, the size
// where messages begin to be slow (Lastovetsky, Rychkov and O'Flynn 2008, section 4), and each
// round gives every rank one piece. Cost: (n - 1) ceil(M / M1) a + (n - 1) bM, without the leap at
// M1.

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"

namespace lanewise::collectives {
namespace {

// Below the size from which most MPIs ask the receiver first.
constexpr std::int64_t piece_bytes = std::int64_t{32} * 1024;

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto pieces = segments_of(shape, shape.count, piece_bytes);
    model::StepId last = model::no_step;
    for (int i = 0; i < pieces.number(); ++i) {
        if (!shape.is_root()) {
            steps.receive(shape.root, {model::Place::receive, pieces.begin(i)}, pieces.size(i));
            continue;
        }
        for (int r = 0; r < shape.ranks; ++r) {
            if (r == shape.root) continue;
            const auto from = shape.offset_of(r) + pieces.begin(i);
            last = steps.send(r, {model::Place::send, from}, pieces.size(i), {last});
        }
    }
    if (shape.is_root()) {
        steps.copy({model::Place::send, shape.offset_of(shape.rank)}, {model::Place::receive, 0},
                   shape.count);
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm scatter_split{
    .collective = Collective::scatter,
    .name = "split",
    .source = "Lastovetsky, Rychkov and O'Flynn, 2008 (MPIBlib), section 4",
    .cost = "(n-1)(ceil(M/M1) a + bM)",
    .needs = {.segmented = true},
    .build = build,
};

}  // namespace lanewise::collectives
