// SPDX-License-Identifier: BSD-3-Clause
//
// See round_trips.hpp.

#include "measure/round_trips.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <tuple>
#include <type_traits>

#include "base/sizes.hpp"
#include "base/train.hpp"

#ifdef LANEWISE_SIMULATED
#include <smpi/smpi_helpers_internal.h>
#endif

namespace lanewise::measure {
namespace {

constexpr std::span<const std::byte> nothing;

double round_trip_s(const Bench& bench, const Pairing& pairing, Buffers& buffers) {
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    for (const int peer : pairing.peers) harness.send(buffers.there, peer);
    for (const int peer : pairing.peers) harness.receive(buffers.back, peer);
    return bench.clock().now_s() - begin_s;
}

void answer(const Bench& bench, int sender, Buffers& buffers) {
    bench.harness().receive(buffers.there, sender);
    bench.harness().send(buffers.back, sender);
}

double train_s(const Bench& bench, const Pairing& pairing, Buffers& buffers) {
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    for (int i = 0; i < train_length; ++i) harness.send(buffers.there, pairing.peers[0]);
    harness.receive({}, pairing.peers[0]);
    return bench.clock().now_s() - begin_s;
}

void answer_train(const Bench& bench, int sender, Buffers& buffers) {
    for (int i = 0; i < train_length; ++i) bench.harness().receive(buffers.there, sender);
    bench.harness().send(nothing, sender);
}

// The time of one call, less what the clock itself takes: the call may be as short.
template <typename Call>
double call_s(const Clock& clock, Call&& call) {
    const double before_s = clock.now_s();
    const double begin_s = clock.now_s();
    call();
    return (clock.now_s() - begin_s) - (begin_s - before_s);
}

double send_s(const Bench& bench, const Pairing& pairing, Buffers& buffers) {
    const int peer = pairing.peers[0];
    const double took_s = call_s(bench.clock(), [&] { bench.harness().send(buffers.there, peer); });
    bench.harness().receive({}, peer);
    return took_s;
}

void confirm(const Bench& bench, int sender, Buffers& buffers) {
    bench.harness().receive(buffers.there, sender);
    bench.harness().send(nothing, sender);
}

// Busy, since waking up would become part of the receive, unless ranks outnumber cores.
void wait_for([[maybe_unused]] const Bench& bench, double duration_s) {
#ifdef LANEWISE_SIMULATED
    // In its microseconds, upwards.
    smpi_usleep(static_cast<useconds_t>(duration_s * 1e6) + 1);
#else
    if (bench.crowded()) {
        std::this_thread::sleep_for(std::chrono::duration<double>(duration_s));
        return;
    }
    const auto& clock = bench.clock();
    const double until_s = clock.now_s() + duration_s;
    while (clock.now_s() < until_s) {
    }
#endif
}

// Twice a whole round trip is long enough for the requested message to arrive.
double receive_s(const Bench& bench, const Pairing& pairing, Buffers& buffers) {
    const int peer = pairing.peers[0];
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    harness.send(nothing, peer);
    harness.receive(buffers.there, peer);
    const double round_trip_time_s = bench.clock().now_s() - begin_s;
    harness.send(nothing, peer);
    wait_for(bench, 2.0 * round_trip_time_s);
    return call_s(bench.clock(), [&] { harness.receive(buffers.there, peer); });
}

void send_twice(const Bench& bench, int sender, Buffers& buffers) {
    for (int i = 0; i < 2; ++i) {
        bench.harness().receive({}, sender);
        bench.harness().send(buffers.there, sender);
    }
}

constexpr std::array known = {
    RoundTrip{"pairs", 1, true, round_trip_s, answer},
    RoundTrip{"triplets", 2, true, round_trip_s, answer},
    RoundTrip{"trains", 1, false, train_s, answer_train},
    RoundTrip{"sends", 1, false, send_s, confirm},
    RoundTrip{"receives", 1, false, receive_s, send_twice},
};

// Answers batches of the length the sender names, until it names none.
void serve(const Bench& bench, const RoundTrip& round_trip, int sender, Buffers& buffers) {
    for (;;) {
        auto count = bench.harness().receive_value<std::uint64_t>(sender);
        if (count == 0) return;
        for (; count > 0; --count) round_trip.serve(bench, sender, buffers);
    }
}

void announce(const Bench& bench, const Pairing& pairing, std::uint64_t count) {
    for (const int peer : pairing.peers) bench.harness().send_value(count, peer);
}

// Runs one batch at the sender and returns false when the pairing has had enough.
bool lead_batch(const Bench& bench, const RoundTrip& round_trip, const Pairing& pairing,
                Buffers& buffers, Repetition& repetition) {
    const auto warmups = bench.options().warmup_repetitions;
    double estimate_s = 0.0;
    if (repetition.stopped()) return false;
    if (warmups > 0) announce(bench, pairing, warmups);
    for (std::uint32_t i = 0; i < warmups; ++i) {
        const double warm_s = bench.clock().now_s();
        round_trip.lead(bench, pairing, buffers);
        estimate_s = bench.clock().now_s() - warm_s;
    }
    const auto count = repetition.next_batch(estimate_s);
    announce(bench, pairing, count);
    std::vector<double> values;
    const double begin_s = bench.clock().now_s();
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(round_trip.lead(bench, pairing, buffers));
    repetition.add(values, 0, bench.clock().now_s() - begin_s);
    return true;
}

const Pairing *find_mine(const Round& round, int rank) {
    for (const auto& pairing : round) {
        const auto& peers = pairing.peers;
        const bool in =
            pairing.sender == rank || std::find(peers.begin(), peers.end(), rank) != peers.end();
        if (in) return &pairing;
    }
    return nullptr;
}

using Key = std::tuple<int, std::vector<int>>;
using Repetitions = std::map<Key, Repetition>;

enum class Sweep { first_batch, the_rest };

void run_round(const Bench& bench, const RoundTrip& round_trip, const Round& round, Sweep sweep,
               Buffers& buffers, Repetitions& repetitions) {
    const auto *mine = find_mine(round, bench.harness().rank());
    if (mine && mine->sender != bench.harness().rank())
        serve(bench, round_trip, mine->sender, buffers);
    if (mine && mine->sender == bench.harness().rank()) {
        auto& repetition =
            repetitions.try_emplace({mine->sender, mine->peers}, bench.stopping_rule())
                .first->second;
        while (lead_batch(bench, round_trip, *mine, buffers, repetition) &&
               sweep == Sweep::the_rest) {
        }
        announce(bench, *mine, 0);
    }
    bench.harness().barrier();
}

// Every rank gets what `owner` holds, by way of rank 0.
void share_from(const Harness& harness, int owner, Measured& measured) {
    static_assert(std::is_trivially_copyable_v<lw_point>);
    if (owner != 0 && harness.rank() == owner) {
        harness.send_value(measured.point, 0);
        harness.send(std::as_bytes(std::span(measured.values_s)), 0);
    }
    if (owner != 0 && harness.rank() == 0) measured.point = harness.receive_value<lw_point>(owner);
    harness.broadcast_value(measured.point);
    measured.values_s.resize(measured.point.repetitions);
    const auto bytes = std::as_writable_bytes(std::span(measured.values_s));
    if (owner != 0 && harness.rank() == 0) harness.receive(bytes, owner);
    harness.broadcast(bytes);
}

std::vector<Measured> share(const Bench& bench, const PairRoundPlan& plan,
                            const Repetitions& repetitions) {
    std::vector<Measured> all;
    for (const auto& round : one_by_one(plan.rounds)) {
        const auto& pairing = round.front();
        Measured measured;
        const auto found = repetitions.find({pairing.sender, pairing.peers});
        if (found != repetitions.end()) measured = sum_up(found->second);
        share_from(bench.harness(), pairing.sender, measured);
        auto& point = measured.point;
        point.root = pairing.sender;
        point.peer = pairing.peers[0];
        point.second_peer = pairing.peers.size() > 1 ? pairing.peers[1] : -1;
        point.message_bytes = plan.there_bytes;
        point.reply_bytes = plan.back_bytes;
        all.push_back(std::move(measured));
    }
    return all;
}

}  // namespace

std::span<const RoundTrip> round_trips() {
    return known;
}

const RoundTrip *find_round_trip(const std::string& name) {
    const auto *found = std::find_if(known.begin(), known.end(), [&](const RoundTrip& round_trip) {
        return name == round_trip.name;
    });
    return found == known.end() ? nullptr : found;
}

std::vector<Round> rounds_of(const RoundTrip& round_trip, int ranks) {
    return round_trip.peers == 2 ? triplet_rounds(ranks) : pair_rounds(ranks);
}

Result<std::vector<Measured>> measure_pair_rounds(const Bench& bench, const PairRoundPlan& plan) {
    const Outcome fits = bench.admit_memory(
        "an exchange of " + format_size(plan.there_bytes) + " and " + format_size(plan.back_bytes) +
            " bytes",
        static_cast<double>(plan.there_bytes) + static_cast<double>(plan.back_bytes));
    if (!fits) return fits.failure();
    Buffers buffers;
    bool short_of_memory = false;
    try {
        buffers.there.resize(plan.there_bytes);
        buffers.back.resize(plan.back_bytes);
    } catch (const std::exception&) {
        short_of_memory = true;
    }
    if (bench.harness().any(short_of_memory))
        return Failure{LW_ERR_MEMORY, "no memory for messages of " + format_size(plan.there_bytes) +
                                          " and " + format_size(plan.back_bytes) + " bytes"};
    Repetitions repetitions;
    for (const auto sweep : {Sweep::first_batch, Sweep::the_rest}) {
        for (const auto& round : plan.rounds) {
            run_round(bench, *plan.round_trip, round, sweep, buffers, repetitions);
        }
    }
    return share(bench, plan, repetitions);
}

}  // namespace lanewise::measure
