// SPDX-License-Identifier: BSD-3-Clause
//
// Told: what a platform says that an observation should have taken. A meeting
// is a schedule of two or three ranks like any other, and is priced.

#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "model/simulation/network.hpp"
#include "model/samples/observation.hpp"
#include "model/simulation/price.hpp"

namespace lanewise::model {

/*
 * The algorithms that an MPI may have carried `seen`, a collective, out by; none where it is not
 * known. Schedules are in bytes.
 */
using AlgorithmsOf = std::function<std::vector<ScheduleOf>(const Observation& seen, int ranks)>;

/*
 * None for a send or receive by itself. Of a collective it is the time nearest to the measured
 * one: which algorithm the MPI took is its secret, and the same leave is given to every model.
 */
std::optional<double> told_s(const Network& network, const Observation& seen,
                             const AlgorithmsOf& algorithms_of = {});

}  // namespace lanewise::model
