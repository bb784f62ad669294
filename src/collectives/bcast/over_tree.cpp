// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/bcast/over_tree.hpp"

namespace lanewise::collectives {

using model::StepId;

std::vector<StepId> bcast_over_tree(model::Builder& steps, const Shape& shape, const Node& node,
                                    const Pieces& pieces, model::Slice vector, StepId ready) {
    std::vector<StepId> arrived(static_cast<std::size_t>(pieces.number()), ready);
    int piece = 0;
    for (auto& here : arrived) {
        if (node.parent >= 0) {
            here = steps.receive(shape.absolute(node.parent), vector.at(pieces.begin(piece)),
                                 pieces.size(piece), {ready});
        }
        ++piece;
    }
    // Children take turns at a whole vector, so that the first has it soon; pieces are short
    // enough to be begun at once, and keep the link busy.
    StepId last = model::no_step;
    for (int i = 0; i < pieces.number(); ++i) {
        for (const auto& child : node.children) {
            const auto sent =
                steps.send(shape.absolute(child.rank), vector.at(pieces.begin(i)), pieces.size(i),
                           {arrived[static_cast<std::size_t>(i)], last});
            if (pieces.number() == 1) last = sent;
        }
    }
    return arrived;
}

}  // namespace lanewise::collectives
