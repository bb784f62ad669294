// SPDX-License-Identifier: BSD-3-Clause
//
// See round_trips.hpp.

#include "measure/round_trips.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "base/train.hpp"

#ifdef LANEWISE_SIMULATED
#include <smpi/smpi_helpers_internal.h>
#endif

namespace lanewise::measure {
namespace {

constexpr std::span<const std::byte> nothing;

double round_trip_s(const Bench& bench, const Meeting& meeting, Buffers& buffers) {
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    for (const int peer : meeting.peers) harness.send(buffers.there, peer);
    for (const int peer : meeting.peers) harness.receive(buffers.back, peer);
    return bench.clock().now_s() - begin_s;
}

void answer(const Bench& bench, int sender, Buffers& buffers) {
    bench.harness().receive(buffers.there, sender);
    bench.harness().send(buffers.back, sender);
}

double train_s(const Bench& bench, const Meeting& meeting, Buffers& buffers) {
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    for (int i = 0; i < train_length; ++i) harness.send(buffers.there, meeting.peers[0]);
    harness.receive({}, meeting.peers[0]);
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

double send_s(const Bench& bench, const Meeting& meeting, Buffers& buffers) {
    const int peer = meeting.peers[0];
    const double took_s =
        call_s(bench.clock(), [&] { bench.harness().send(buffers.there, peer); });
    bench.harness().receive({}, peer);
    return took_s;
}

void confirm(const Bench& bench, int sender, Buffers& buffers) {
    bench.harness().receive(buffers.there, sender);
    bench.harness().send(nothing, sender);
}

// Awake, since waking up would be a part of the receive, unless there are more ranks than cores.
void let_pass([[maybe_unused]] const Bench& bench, double duration_s) {
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

// Twice a whole trip is long enough for a message to arrive that was asked for.
double receive_s(const Bench& bench, const Meeting& meeting, Buffers& buffers) {
    const int peer = meeting.peers[0];
    const auto& harness = bench.harness();
    const double begin_s = bench.clock().now_s();
    harness.send(nothing, peer);
    harness.receive(buffers.there, peer);
    const double trip_s = bench.clock().now_s() - begin_s;
    harness.send(nothing, peer);
    let_pass(bench, 2.0 * trip_s);
    return call_s(bench.clock(), [&] { harness.receive(buffers.there, peer); });
}

void send_twice(const Bench& bench, int sender, Buffers& buffers) {
    for (int i = 0; i < 2; ++i) {
        bench.harness().receive({}, sender);
        bench.harness().send(buffers.there, sender);
    }
}

constexpr std::array all = {
    Trip{"pairs", 1, true, round_trip_s, answer},
    Trip{"triplets", 2, true, round_trip_s, answer},
    Trip{"trains", 1, false, train_s, answer_train},
    Trip{"sends", 1, false, send_s, confirm},
    Trip{"receives", 1, false, receive_s, send_twice},
};

}  // namespace

std::span<const Trip> trips() { return all; }

const Trip *find_trip(const std::string& name) {
    const auto *found = std::find_if(all.begin(), all.end(),
                                     [&](const Trip& trip) { return name == trip.name; });
    return found == all.end() ? nullptr : found;
}

std::vector<Round> rounds_of(const Trip& trip, int ranks) {
    return trip.peers == 2 ? triplet_rounds(ranks) : pair_rounds(ranks);
}

}  // namespace lanewise::measure
