// SPDX-License-Identifier: BSD-3-Clause
//
// Round trips: what the ranks of a pairing exchange, and what of it is timed at
// the sender.
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
//
// Within a round each pairing runs by itself, with its own repetition rule, which
// its sender decides; between rounds all ranks meet at a barrier. Pairings of one
// round disturb each other only where they share a link, which on a switch they do
// not (MPIBlib 2008, section 3). The rounds are run twice: the first batch of every
// pairing, then the rest, so that the batches of a pairing lie apart in time.

#pragma once

#include <cstddef>
#include <cstdint>
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

struct RoundTrip {
    const char *name;
    int peers;    /* of a pairing: 1 or 2 */
    bool answers; /* whether the size of what comes back is the user's to choose; else it is 0 */
    /* One repetition at the sender; the time. */
    double (*lead)(const Bench& bench, const Pairing& pairing, Buffers& buffers);
    /* Its part at a peer. */
    void (*serve)(const Bench& bench, int sender, Buffers& buffers);
};

std::span<const RoundTrip> round_trips();
const RoundTrip *find_round_trip(const std::string& name);

/* All its pairings on `ranks` ranks, in rounds of disjoint ones; none where ranks are too few. */
std::vector<Round> rounds_of(const RoundTrip& round_trip, int ranks);

struct PairRoundPlan {
    std::vector<Round> rounds;
    std::uint64_t there_bytes = 0;
    std::uint64_t back_bytes = 0;
    const RoundTrip *round_trip = &round_trips().front(); /* there and back */
};

/* One Measured a pairing, sorted as one_by_one sorts them; the same on every rank. */
Result<std::vector<Measured>> measure_pair_rounds(const Bench& bench, const PairRoundPlan& plan);

}  // namespace lanewise::measure
