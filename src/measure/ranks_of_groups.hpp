// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks of groups: how many ranks of a host share what a control group lets its processes have.
// Batch systems put a job into one group, and each of its tasks into one below.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/control_groups.hpp"

namespace lanewise::measure {

using RanksOfGroups = std::map<std::uint64_t, int>;

/* How many ranks of a communicator, all on one host, each of this rank's limits holds for.
   Collective. */
RanksOfGroups ranks_of_groups(const std::vector<GroupLimit>& limits, MPI_Comm host);

/* Whether more ranks share a group than it has of what each takes one of, such as processors. */
bool are_too_many(const std::vector<GroupLimit>& limits, const RanksOfGroups& ranks);

/* What is left for a rank where each group shares alike; infinite without a limit. A group that has
   got its limit since counts as one of `all` ranks of the host. */
double share_of(const std::vector<GroupLimit>& limits, const RanksOfGroups& ranks, int all);

}  // namespace lanewise::measure
