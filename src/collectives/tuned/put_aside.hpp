// SPDX-License-Identifier: BSD-3-Clause
//
// PutAside: rules that lose in this job (tuned/watch). A communicator whose ranks find that a rule
// is slower than the MPI's own does not follow it any more, on any of its ranks; others decide by
// what they see themselves. Rules are watched where there is a report, since only then calls are
// timed and some are left to the MPI.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/choose.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "collectives/tuned/report.hpp"

namespace lanewise::tuned {

/* Takes in a call under a rule. At the same calls on all ranks of the communicator this is
   collective; then a rule may be put aside. */
void watch_rule(collectives::CommunicatorState& state, collectives::Operation operation,
                const collectives::Rule& rule, std::uint64_t message_bytes, CallOutcome outcome,
                std::int64_t elapsed_ns);

bool is_put_aside(const collectives::CommunicatorState& state, const collectives::Rule& rule);

struct RulePutAside {
    collectives::Operation operation = collectives::Collective::barrier;
    collectives::Rule rule;
    int ranks = 1;           /* of the communicator */
    std::size_t samples = 0; /* calls that were compared */
    double ratio = 1.0;      /* the rule's time over the MPI's */
};

/* Those that this process does not follow any more. */
std::vector<RulePutAside> rules_put_aside();

}  // namespace lanewise::tuned
