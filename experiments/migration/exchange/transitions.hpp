// SPDX-License-Identifier: BSD-3-Clause
//
// The time of the transitions of the path state for N queue pairs at once (automatic path migration
// 2007, Figures 5 and 6), and of a message meanwhile (Figures 7 and 8): RDMA writes use the queue
// pairs in round, one at a time, while the caller loads all of them, and later migrates all of
// them.

#pragma once

#include <vector>

#include "experiments/migration/exchange/endpoint.hpp"

namespace lanewise::exchange {

struct Transition {
    int queue_pairs = 0;
    double armed_s = 0;     // from the request until all are armed; median over rounds
    double migrated_s = 0;  // from the request until all events have arrived
    double usual_latency_s = 0;
    double arming_latency_s = 0;
    double migrating_latency_s = 0;
};

// Returns the times at the caller; the listener, which only follows, gets zeros.
Transition time_transitions(const Settings& settings, Rendezvous& rendezvous, Endpoint& endpoint);

}  // namespace lanewise::exchange
