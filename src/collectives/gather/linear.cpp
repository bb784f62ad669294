// SPDX-License-Identifier: BSD-3-Clause
//
// Linear gather: the root receives from one rank after the other
// (paper 000, section 1). A rank whose turn has not come holds its message back
// if it is too large to be sent unasked.
// Cost: (n - 1)(a + bM).

#include "collectives/algorithm.hpp"
#include "collectives/gather/linearly.hpp"

namespace lanewise::collectives {
namespace {

model::Schedule build(const Shape& shape) {
    return gather_linearly(shape, Turns::one_by_one);
}

}  // namespace

extern const Algorithm gather_linear{
    .collective = Collective::gather,
    .name = "linear",
    .source = "paper 000, section 1",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

extern const Algorithm gatherv_linear{
    .collective = Collective::gatherv,
    .name = "linear",
    .source = "paper 000, section 1",
    .cost = "(n-1)(a+bM)",
    .needs = {},
    .build = build,
};

}  // namespace lanewise::collectives
