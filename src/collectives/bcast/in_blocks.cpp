// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/bcast/in_blocks.hpp"

#include "collectives/tree.hpp"

namespace lanewise::collectives {

Scattered scatter_vector(model::Builder& steps, const CallShape& shape) {
    const model::Slice vector{model::Place::receive, 0};
    const int me = shape.relative();
    const auto node = binomial_tree(me, shape.ranks);
    Scattered scattered{.bounds = Bounds(shape.count, shape.ranks)};
    const auto& bounds = scattered.bounds;
    if (node.parent >= 0) {
        scattered.arrived = steps.receive(shape.absolute(node.parent), vector.at(bounds[me]),
                                          bounds.size(me, me + node.subtree));
    }
    model::StepId last = model::no_step;
    for (const auto& child : node.children) {
        last = steps.send(shape.absolute(child.rank), vector.at(bounds[child.rank]),
                          bounds.size(child.rank, child.rank + child.subtree),
                          {scattered.arrived, last});
    }
    return scattered;
}

}  // namespace lanewise::collectives
