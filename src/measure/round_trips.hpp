// SPDX-License-Identifier: BSD-3-Clause
//
// Trips: what ranks do when they meet, and what of it is timed on the sender.
//
//   pairs     a message there, one back: the round trip
//   triplets  a message to each of two peers, one back from each: the whole
//   trains    train_length messages there, an empty one back: the whole
//   sends     a message there: how long the send call takes
//   receives  a message back that was asked for and has arrived: how long the
//             receive call takes
//
// Trains, sends and receives are what LogGP and PLogP are estimated from:
// Hoefler, Lichei and Rehm, "Low-overhead LogGP parameter assessment", 2007;
// Kielmann, Bal and Verstoep, "Fast measurement of LogP parameters", 2000.
//
// Adding one: two functions and a line in round_trips.cpp.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "measure/bench.hpp"
#include "measure/pair_rounds.hpp"

namespace lanewise::measure {

struct Buffers {
    std::vector<std::byte> there;
    std::vector<std::byte> back;
};

struct Trip {
    const char *name;
    int peers;   /* of a meeting: 1 or 2 */
    bool answers; /* whether the size of what comes back is the user's to choose; else it is 0 */
    /* One repetition at the sender; the time. */
    double (*lead)(const Bench& bench, const Meeting& meeting, Buffers& buffers);
    /* Its part at a peer. */
    void (*serve)(const Bench& bench, int sender, Buffers& buffers);
};

std::span<const Trip> trips();
const Trip *find_trip(const std::string& name);

/* All its meetings on `ranks` ranks, in rounds of disjoint ones; none where ranks are too few. */
std::vector<Round> rounds_of(const Trip& trip, int ranks);

}  // namespace lanewise::measure
