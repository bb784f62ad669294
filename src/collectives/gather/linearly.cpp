// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/gather/linearly.hpp"

namespace lanewise::collectives {

using model::Place;
using model::StepId;

model::Schedule gather_linearly(const Shape& shape, Turns turns) {
    model::Builder steps;
    const auto own = shape.count_of(shape.rank);
    if (!shape.is_root()) {
        steps.send(shape.root, {Place::send, 0}, own);
        return steps.finish();
    }
    steps.copy({Place::send, 0}, {Place::receive, shape.offset_of(shape.rank)}, own);
    StepId last = model::no_step;
    for (int r = 0; r < shape.ranks; ++r) {
        if (r == shape.root) continue;
        const auto received =
            steps.receive(r, {Place::receive, shape.offset_of(r)}, shape.count_of(r), {last});
        if (turns == Turns::one_by_one) last = received;
    }
    return steps.finish();
}

}  // namespace lanewise::collectives
