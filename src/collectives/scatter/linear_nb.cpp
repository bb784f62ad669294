// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking scatter: the root begins all its messages at once and leaves
// their order to the network.
// Cost: a + (n - 1) bM, and the root's overhead a message.

#include "collectives/algorithm.hpp"
#include "collectives/scatter/linearly.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    model::Builder steps;
    scatter_linearly(steps, shape, {model::Place::send, 0}, model::no_step, Pace::at_once);
    return steps.finish();
}

}  // namespace

extern const Algorithm scatter_linear_nb{
    .collective = Collective::scatter,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};

extern const Algorithm scatterv_linear_nb{
    .collective = Collective::scatterv,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};

}  // namespace lanewise::collectives
