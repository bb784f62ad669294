// SPDX-License-Identifier: BSD-3-Clause
//
// ProgramCalls: calls of one operation at one size as programs make them, for all that is compared
// at that size. The MPI's own, Lanewise's algorithms and the MPI's other algorithms are the same
// calls with the same buffers: what differs is the rule that the preloaded library follows, or the
// communicator for which the MPI was told its algorithm.
//
// Several sets of buffers are used in rotation, and between two calls that are timed there is one
// that is not, of another size or another collective. A call that only ever follows itself finds
// caches, queues and the MPI's ring of messages as no program leaves them.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "collectives/execute/execute.hpp"
#include "tune/implementation.hpp"

namespace lanewise::tune {

class ProgramCalls;
using SharedCalls = std::shared_ptr<ProgramCalls>;

/* Local; buffers are made when they are first needed. */
SharedCalls program_calls(collectives::Operation operation, std::uint64_t message_bytes);

/* Sets of buffers that calls of this size rotate through. */
std::uint32_t rotating_sets(std::uint64_t message_bytes);

/* The size of the calls of the same collective that come between; 0: there are none. */
std::uint64_t size_between(std::uint64_t message_bytes);

/*
 * The calls under a rule; without an algorithm the MPI's own. A nonblocking operation is begun,
 * `work_s` of work are done, and it is waited for. `calls` are kept as long as this is.
 */
Implementation call_under_rule(const SharedCalls& calls, const collectives::Choice& choice,
                               double work_s);

/* The calls without a rule, on a communicator of the caller's. Collective, as an Implementation. */
Result<Execution> call_on(const SharedCalls& calls, MPI_Comm comm, int root);

}  // namespace lanewise::tune
