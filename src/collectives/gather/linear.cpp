// SPDX-License-Identifier: BSD-3-Clause
//
// Linear gather: the root receives from every rank itself.
//
// linear: from one rank after the other (Lastovetsky, Rychkov and O'Flynn 2008, section 1). A rank
//   whose turn has not come holds its message if it is too large to be sent eagerly.
//   Cost: (n - 1)(a + bM).
// linear_nb: all receives are posted at once. Short messages come in parallel; those between M1
//   and M2 may congest the root's link. Cost: a + (n - 1) bM, and the root's overhead per message.

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::StepId;

enum class Posting { one_by_one, at_once };

template <Posting posting>
model::Schedule build(const CallShape& shape) {
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
        if (posting == Posting::one_by_one) last = received;
    }
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm gather_linear{
    .collective = Collective::gather,
    .name = "linear",
    .source = "Lastovetsky, Rychkov and O'Flynn, 2008 (MPIBlib), section 1",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build<Posting::one_by_one>,
};
extern constexpr Algorithm gatherv_linear = vector_form(gather_linear, Collective::gatherv, {});

extern constexpr Algorithm gather_linear_nb{
    .collective = Collective::gather,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build<Posting::at_once>,
    .posts_at_once = true,
};
extern constexpr Algorithm gatherv_linear_nb =
    vector_form(gather_linear_nb, Collective::gatherv, {});

}  // namespace lanewise::collectives
