// SPDX-License-Identifier: BSD-3-Clause

#include "model/fit/expected_time.hpp"

#include <cmath>

#include "base/train.hpp"

namespace lanewise::model {
namespace {

StepId send(Builder& steps, int peer, std::int64_t bytes, StepId after) {
    return bytes > 0 ? steps.send(peer, {}, bytes, {after}) : steps.signal(peer, {after});
}

StepId receive(Builder& steps, int peer, std::int64_t bytes, StepId after) {
    return bytes > 0 ? steps.receive(peer, {}, bytes, {after}) : steps.await(peer, {after});
}

struct Exchange {
    int peers = 1;
    int messages = 1; /* to each peer */
    std::int64_t there_bytes = 0;
    std::int64_t back_bytes = 0;
};

// Rank 0 leads; each step waits for the one before, as blocking calls do.
Schedule schedule_of(const Exchange& exchange, int rank) {
    Builder steps;
    StepId last = no_step;
    for (int peer = 1; rank == 0 && peer <= exchange.peers; ++peer) {
        for (int i = 0; i < exchange.messages; ++i)
            last = send(steps, peer, exchange.there_bytes, last);
    }
    for (int peer = 1; rank == 0 && peer <= exchange.peers; ++peer) {
        last = receive(steps, peer, exchange.back_bytes, last);
    }
    if (rank == 0) return steps.finish();
    for (int i = 0; i < exchange.messages; ++i)
        last = receive(steps, 0, exchange.there_bytes, last);
    send(steps, 0, exchange.back_bytes, last);
    return steps.finish();
}

double exchange_s(const Network& network, const Observation& seen) {
    const bool train = seen.experiment == Experiment::train;
    const Exchange exchange{seen.second_peer >= 0 ? 2 : 1, train ? train_length : 1,
                            seen.message_bytes, seen.reply_bytes};
    const int ranks[] = {seen.root, seen.peer, seen.second_peer};
    Network small = network;
    small.ranks = exchange.peers + 1;
    small.host.clear();
    small.cost = [&](int from, int to, std::int64_t bytes) {
        return network.cost(ranks[from], ranks[to], bytes);
    };
    return price(
               small, small.ranks, [&](int rank) { return schedule_of(exchange, rank); }, 1)
        .total_s;
}

}  // namespace

std::optional<double> expected_s(const Network& network, const Observation& seen,
                                 const AlgorithmsOf& algorithms_of) {
    if (seen.experiment == Experiment::send || seen.experiment == Experiment::receive)
        return std::nullopt;
    if (seen.experiment != Experiment::collective) return exchange_s(network, seen);
    if (!algorithms_of) return std::nullopt;
    std::optional<double> nearest;
    for (const auto& schedule_of : algorithms_of(seen, network.ranks)) {
        const double expected = price(network, network.ranks, schedule_of, 1).total_s;
        if (!nearest || std::fabs(expected - seen.time_s) < std::fabs(*nearest - seen.time_s))
            nearest = expected;
    }
    return nearest;
}

}  // namespace lanewise::model
