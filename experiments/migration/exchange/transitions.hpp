// SPDX-License-Identifier: BSD-3-Clause
//
// How long the transitions of the path state take for N queue pairs at once (paper 003, Figs 5 and
// 6), and what a message takes meanwhile (Figs 7 and 8): RDMA writes go round over the queue pairs,
// one at a time, while the caller loads all of them, and later migrates all of them.

#pragma once

#include <vector>

#include "experiments/migration/exchange/endpoint.hpp"

namespace lanewise::exchange {

struct Transition {
    int queue_pairs = 0;
    double armed_s = 0;     // from the request until all are armed; median over rounds
    double migrated_s = 0;  // from the request until all events are there
    double usual_latency_s = 0;
    double arming_latency_s = 0;
    double migrating_latency_s = 0;
};

// The caller gets the times; the listener, which only follows, gets zeros.
Transition time_transitions(const Settings& settings, Meeting& meeting, Endpoint& endpoint);

}  // namespace lanewise::exchange
