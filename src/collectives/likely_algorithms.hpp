// SPDX-License-Identifier: BSD-3-Clause
//
// Algorithms that an MPI is likely to use for a collective: linear, with one receive posted after
// another or all at once, and binomial.

#pragma once

#include "model/fit/expected_time.hpp"

namespace lanewise::collectives {

std::vector<model::ScheduleOf> likely_algorithms(const model::Observation& seen, int ranks);

}  // namespace lanewise::collectives
