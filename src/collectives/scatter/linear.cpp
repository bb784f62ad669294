// SPDX-License-Identifier: BSD-3-Clause
//
// Linear scatter: the root sends to one rank after the other, each message
// handed over before the next is begun (paper 000, section 1).
// Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"
#include "collectives/scatter/linearly.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    scatter_linearly(steps, shape, {model::Place::send, 0}, model::no_step, Pace::one_by_one);
    return steps.finish();
}

}  // namespace

extern const Algorithm scatter_linear{
    .collective = Collective::scatter,
    .name = "linear",
    .source = "paper 000, section 1",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

extern const Algorithm scatterv_linear{
    .collective = Collective::scatterv,
    .name = "linear",
    .source = "paper 000, section 1",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
