// SPDX-License-Identifier: BSD-3-Clause
//
// Split gather: linear, in pieces below M1, the size from which a switch that many ranks send to at
// once drops packets (Lastovetsky, Rychkov and O'Flynn 2008, section 4). A rank sends its next
// piece when the root has confirmed the last one, so that at most one piece per rank is under way.
// Cost: (n - 1)(ceil(M / M1) a + bM) + 2 a ceil(M / M1), without escalations.

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"

namespace lanewise::collectives {
namespace {

// The MPIBlib paper saw escalations from 4 KiB on with a few dozen ranks.
constexpr std::int64_t piece_bytes = std::int64_t{4} * 1024;

void send_pieces(model::Builder& steps, const CallShape& shape, const Pieces& pieces) {
    for (int i = 0; i < pieces.number(); ++i) {
        const auto asked = i == 0 ? model::no_step : steps.await(shape.root);
        steps.send(shape.root, {model::Place::send, pieces.begin(i)}, pieces.size(i), {asked});
    }
}

void collect_pieces(model::Builder& steps, const CallShape& shape, const Pieces& pieces) {
    std::vector<model::StepId> arrived(static_cast<std::size_t>(shape.ranks), model::no_step);
    for (int i = 0; i < pieces.number(); ++i) {
        for (int r = 0; r < shape.ranks; ++r) {
            if (r == shape.root) continue;
            auto& last = arrived[static_cast<std::size_t>(r)];
            const auto before = last;
            last = steps.receive(r, {model::Place::receive, shape.offset_of(r) + pieces.begin(i)},
                                 pieces.size(i));
            if (i > 0) steps.signal(r, {before});
        }
    }
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const auto pieces = segments_of(shape, shape.count, piece_bytes);
    if (!shape.is_root()) {
        send_pieces(steps, shape, pieces);
        return steps.finish();
    }
    steps.copy({model::Place::send, 0}, {model::Place::receive, shape.offset_of(shape.rank)},
               shape.count);
    collect_pieces(steps, shape, pieces);
    return steps.finish();
}

}  // namespace

extern const Algorithm gather_split{
    .collective = Collective::gather,
    .name = "split",
    .source = "Lastovetsky, Rychkov and O'Flynn, 2008 (MPIBlib), section 4",
    .cost = "(n-1)(ceil(M/M1) a + bM) + 2a ceil(M/M1)",
    .needs = {.segmented = true},
    .build = build,
};

}  // namespace lanewise::collectives
