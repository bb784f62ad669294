// SPDX-License-Identifier: BSD-3-Clause
//
// ExactCall: reductions whose bits do not depend on the number of ranks either.
//
// Sums and products of the numbers that sums/mpi knows are exact and are rounded once. A blocking
// call is reduced by sums/mpi itself. One that is not waited for sends the numbers to whoever gets
// the result, all at once, and these are combined when the last of them is there. Maxima, minima
// and integers have the same bits by any algorithm.

#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/execute/call.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/* Whether the order of operands can be seen in the result. That of maxima and minima shows where a
   NaN or zeros of both signs are among the operands. What is not known here may show it. */
bool depends_on_order(const Call& call);

/* How a reduction gets bits that are the same on any number of ranks. */
enum class RankFree : std::uint8_t {
    no,         /* nothing is known that gives its type, operator or collective the same bits */
    in_any_way, /* by any algorithm, with the arithmetic of sums/combine */
    exactly,    /* by an exact reduction */
};
RankFree rank_free(const Call& call, int ranks);

/* Reduces a call that is RankFree::exactly; an error code of MPI. Its counts are not looked at. */
int reduce_exactly(const Call& call, CommunicatorState& state);

/* What begins such a call without waiting, of a collective that it can be; it is not registered,
   since its schedule combines nothing. `combine_collected` does, after it has ended. */
const Algorithm *collecting(Collective collective);
bool is_collecting(const Algorithm *algorithm);

/* Combines what was collected in scratch memory with the own part, which begins at `own`, into the
   receive buffer: `count` elements. An error code of MPI. */
int combine_collected(const Operands& operands, const std::byte *own, std::int64_t count,
                      int ranks);

}  // namespace lanewise::collectives
