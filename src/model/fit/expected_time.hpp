// SPDX-License-Identifier: BSD-3-Clause
//
// Expected time: what an observation should have taken on a platform. A round of pairs or triplets
// is a schedule of two or three ranks like any other, and is priced.

#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"
#include "model/simulation/price.hpp"

namespace lanewise::model {

/* The algorithms by which an MPI may have executed `seen`, a collective; none if that is unknown.
   Schedules are in bytes. */
using AlgorithmsOf = std::function<std::vector<ScheduleOf>(const Observation& seen, int ranks)>;

/* None for a send or receive alone. For a collective, the time nearest to the measured one: the MPI
   does not say which algorithm it used, and every model gets the same benefit of the doubt. */
std::optional<double> expected_s(const Network& network, const Observation& seen,
                                 const AlgorithmsOf& algorithms_of = {});

}  // namespace lanewise::model
