// SPDX-License-Identifier: BSD-3-Clause
//
// Price: how long a set of schedules takes on a network, by event simulation.
//
// A rank is one thread. It starts its steps in the order of their list, each as soon as those that
// it names have completed; its processor serves requests first come, first served. A message takes,
// one after the other:
//   send_s     on the sender's processor
//   egress_s   on an interface of the sender's host, which its ranks share; it is free for the next
//              message rest_s later
//   latency_s  on the way
//   ingress_s  on that interface of the receiver's host, for the last ingress_s of the message's
//              arrival: a message is received as it arrives
//   receive_s  on the receiver's processor, once the receive is posted
// A resource whose time is 0 is not waited for: two ranks of one host exchange messages without its
// interface if `cost` gives them no egress and ingress. Where it names the connection of the two
// hosts in place of an interface, only what they send to each other waits, until the message before
// has left its links as well. On a shared link, messages get equal parts of its bandwidth from the
// moment their first byte leaves the interface. A message may be on several links, and has arrived
// when it has left all of them.
//
// An eager send (Network::eager_bytes) has completed when its processor is done with it. A larger
// one begins when its receive is posted, and has completed when its last byte has left. The n-th
// send between two ranks matches the n-th receive. Simultaneous events are handled in the order in
// which they were caused, so a price is the same in every run.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/schedule/schedule.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

struct Priced {
    double total_s = 0.0; /* infinite where it cannot finish */
    std::vector<double> rank_s;
    bool finished = true;
    std::string waiting; /* who waits for whom, where it cannot finish */
};

enum class Busy : std::uint8_t { send, receive, copy, reduce, egress, ingress };

/* A processor (of `rank`) or an interface (of its host) at work. Sends and receives are reported
 * even if they take no time. */
struct Span {
    Busy what = Busy::send;
    int rank = 0;
    int peer = -1; /* the other rank of a message */
    double begin_s = 0.0;
    double end_s = 0.0;
    std::int64_t bytes = 0;
};

using ScheduleOf = std::function<Schedule(int rank)>;
using Watch = std::function<void(const Span&)>;

/*
 * Network::host, where it is not empty, and Network::cost must know all `ranks`.
 * `watch`, if given, gets every span of work, in no particular order.
 */
Priced price(const Network& network, int ranks, const ScheduleOf& schedule_of,
             std::int64_t unit_bytes, const Watch& watch = {});

}  // namespace lanewise::model
