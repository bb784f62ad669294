// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/scatter/linearly.hpp"

namespace lanewise::collectives {

using model::Place;
using model::StepId;

void scatter_linearly(model::Builder& steps, const Shape& shape, model::Slice blocks, StepId ready,
                      Pace pace) {
    const auto own = shape.count_of(shape.rank);
    if (!shape.is_root()) {
        steps.receive(shape.root, {Place::receive, 0}, own);
        return;
    }
    StepId last = model::no_step;
    for (int r = 0; r < shape.ranks; ++r) {
        if (r == shape.root) continue;
        const auto sent =
            steps.send(r, blocks.at(shape.offset_of(r)), shape.count_of(r), {ready, last});
        if (pace == Pace::one_by_one) last = sent;
    }
    steps.copy(blocks.at(shape.offset_of(shape.rank)), {Place::receive, 0}, own, {ready});
}

}  // namespace lanewise::collectives
