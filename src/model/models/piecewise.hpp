// SPDX-License-Identifier: BSD-3-Clause
//
// Piecewise: a line for each protocol. An MPI sends short messages in another way than long ones
// (inline, eager, rendezvous), and memory is slower where a message no longer fits a cache. Within
// such a range of sizes, a message of M bytes takes a + bM, where each link has an a and a b of its
// own; the next message follows after the gap, and sender and receiver are busy for their
// overheads, each a line as well and the same for all ranks. From some size on, a message does not
// begin before its receive is posted (rendezvous). This shows in trains: the next message follows
// only when the one before has arrived, so that the gap is the whole time of a message. Then the
// interfaces are busy for the bytes alone, and what else a message takes holds nobody up.
//
// Source: the hybrid model of SimGrid SMPI (Bedaride et al., "Toward better simulation of MPI
// applications on Ethernet/TCP networks", PMBS 2013) for the lines by protocol; the gap and the
// overheads as in PLogP (plogp.hpp). How the ranges are found: size_ranges.hpp.

#pragma once

#include <optional>
#include <vector>

#include "model/models/parameter.hpp"
#include "model/models/size_ranges.hpp"
#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

/* From `from_bytes` on, up to the next protocol. */
struct Protocol {
    std::int64_t from_bytes = 0;
    PiecewiseTime gap;     /* from one message to the next */
    PiecewiseTime send;    /* the sender is busy */
    PiecewiseTime receive; /* the receiver is busy */
};

struct Piecewise {
    std::vector<Protocol> protocols;              /* in rising order; the first from 0 */
    std::optional<std::int64_t> waits_from_bytes; /* for the receive; none: no message waits */
    MessageLinks links;                           /* of a message, for each protocol */

    std::size_t protocol_of(std::int64_t bytes) const;
};

/* Fails where a link has not been measured at two sizes. Without trains, the gap is a message's
   time; without sends or receives, nobody's processor is busy. */
Result<Fitted<Piecewise>> fit_piecewise(const Observations& observations);

std::vector<Parameter *> parameters(Piecewise& model);

/* Of any number of ranks: those beyond the measured have the mean link. */
Network network(const Piecewise& model, int ranks);

}  // namespace lanewise::model
