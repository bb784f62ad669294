// SPDX-License-Identifier: BSD-3-Clause
//
// Trains: what LogGP and PLogP are estimated from besides round trips, namely the time from one
// message to the next and the processor time of a send and of a receive. There is one number per
// size, the median over all pairs of ranks.

#pragma once

#include <map>
#include <optional>

#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

using BySize = std::map<std::int64_t, double>;

struct TrainTimes {
    BySize interval_s; /* (train - round trip) / (length - 1) */
    BySize send_s;
    BySize receive_s;
    BySize round_trip_s; /* the same size both ways */
};

/* What there is of them; a size may be in one table and not in another. */
TrainTimes measured_train_times(const Observations& observations);

/* Fails with the experiment to make where one of the four is lacking. */
Result<TrainTimes> train_times(const Observations& observations);

/*
 * The message that takes `message_s` alone and follows another after
 * `interval_s`: the interfaces have the interval, the processors what is left
 * of the way, up to send_s and receive_s, the wire the rest. Neither processor
 * has more than the interval, which contains what it does. Where the interval
 * is longer than the way, the sender's interface rests after the message.
 */
MessageCost spaced_message(double message_s, double interval_s, double send_s, double receive_s);

}  // namespace lanewise::model
