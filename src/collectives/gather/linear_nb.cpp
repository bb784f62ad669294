// SPDX-License-Identifier: BSD-3-Clause
//
// Linear nonblocking gather: the root opens all its receives at once. Short
// messages come in parallel; those between M1 and M2 may congest its link.
// Cost: a + (n - 1) bM, and the root's overhead a message.

#include "collectives/algorithm.hpp"
#include "collectives/gather/linearly.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return gather_linearly(shape, Turns::at_once);
}

}  // namespace

extern const Algorithm gather_linear_nb{
    .collective = Collective::gather,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};

extern const Algorithm gatherv_linear_nb{
    .collective = Collective::gatherv,
    .name = "linear_nb",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .cost = "a+(n-1)bM",
    .needs = {},
    .build = build,
    .posts_at_once = true,
};

}  // namespace lanewise::collectives
