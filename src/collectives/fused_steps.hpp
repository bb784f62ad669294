// SPDX-License-Identifier: BSD-3-Clause
//
// Which copies of a schedule are made by the reduction beside them. A reduction writes its result
// over one of its operands, so an operand that must stay is copied before, and a result that came
// to lie elsewhere is copied after. Where the arithmetic is our own (sums/combine.hpp), it reads
// both operands and writes the result where it belongs: one pass over the data in place of two.

#pragma once

#include <cstddef>
#include <optional>

#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* `result` becomes `left` op `right`. What `right` holds afterwards matters to nobody if it is
   scratch. */
struct FusedSteps {
    model::Slice left;
    model::Slice right;
    model::Slice result;
};

/* Step `i` and the one after it as one pass, if they are a copy and a reduction that allow it. */
std::optional<FusedSteps> fused_with_next(const model::Schedule& schedule, std::size_t i);

}  // namespace lanewise::collectives
