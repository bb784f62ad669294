// SPDX-License-Identifier: BSD-3-Clause
//
// Linear scatter: the root sends to every rank itself.
//
// linear: one message after the other, each handed over before the next is begun
//   (Lastovetsky, Rychkov and O'Flynn 2008, section 1). Cost: (n - 1)(a + bM).
// linear_nb: all messages are posted at once and the network decides their order.
//   Cost: a + (n - 1) bM, and the root's overhead per message.

#include "collectives/algorithm.hpp"
#include "collectives/scatter/scatter.hpp"

namespace lanewise::collectives {

using model::Place;
using model::StepId;

void scatter_linearly(model::Builder& steps, const CallShape& shape, model::Slice blocks,
                      StepId ready, Posting posting) {
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
        if (posting == Posting::one_by_one) last = sent;
    }
    steps.copy(blocks.at(shape.offset_of(shape.rank)), {Place::receive, 0}, own, {ready});
}

namespace {

template <Posting posting>
model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    scatter_linearly(steps, shape, {Place::send, 0}, model::no_step, posting);
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm scatter_linear{
    .collective = Collective::scatter,
    .name = "linear",
    .source = "Lastovetsky, Rychkov and O'Flynn, 2008 (MPIBlib), section 1",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build<Posting::one_by_one>,
};
extern constexpr Algorithm scatterv_linear = vector_form(scatter_linear, Collective::scatterv, {});

extern constexpr Algorithm scatter_linear_nb{
    .collective = Collective::scatter,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build<Posting::at_once>,
    .posts_at_once = true,
};
extern constexpr Algorithm scatterv_linear_nb =
    vector_form(scatter_linear_nb, Collective::scatterv, {});

}  // namespace lanewise::collectives
