// SPDX-License-Identifier: BSD-3-Clause
//
// See meetings.hpp.

#include "measure/meetings.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <type_traits>

#include "base/sizes.hpp"

namespace lanewise::measure {
namespace {

// Answers batches of the length the sender names, until it names none.
void serve(const Bench& bench, const Trip& trip, int sender, Buffers& buffers) {
    for (;;) {
        auto count = bench.harness().receive_value<std::uint64_t>(sender);
        if (count == 0) return;
        for (; count > 0; --count) trip.serve(bench, sender, buffers);
    }
}

void announce(const Bench& bench, const Meeting& meeting, std::uint64_t count) {
    for (const int peer : meeting.peers) bench.harness().send_value(count, peer);
}

// Runs one batch at the sender and returns false when the meeting has had enough.
bool lead_batch(const Bench& bench, const Trip& trip, const Meeting& meeting, Buffers& buffers,
                Repetition& repetition) {
    const auto warmups = bench.options().warmup_repetitions;
    double estimate_s = 0.0;
    if (repetition.stopped()) return false;
    if (warmups > 0) announce(bench, meeting, warmups);
    for (std::uint32_t i = 0; i < warmups; ++i) {
        const double warm_s = bench.clock().now_s();
        trip.lead(bench, meeting, buffers);
        estimate_s = bench.clock().now_s() - warm_s;
    }
    const auto count = repetition.next_batch(estimate_s);
    announce(bench, meeting, count);
    std::vector<double> values;
    const double begin_s = bench.clock().now_s();
    for (std::size_t i = 0; i < count; ++i) values.push_back(trip.lead(bench, meeting, buffers));
    repetition.add(values, 0, bench.clock().now_s() - begin_s);
    return true;
}

const Meeting *find_mine(const Round& round, int rank) {
    for (const auto& meeting : round) {
        const auto& peers = meeting.peers;
        const bool in = meeting.sender == rank ||
                        std::find(peers.begin(), peers.end(), rank) != peers.end();
        if (in) return &meeting;
    }
    return nullptr;
}

using Key = std::tuple<int, std::vector<int>>;
using Repetitions = std::map<Key, Repetition>;

enum class Sweep { first_batch, the_rest };

void hold_round(const Bench& bench, const Trip& trip, const Round& round, Sweep sweep,
                Buffers& buffers, Repetitions& repetitions) {
    const auto *mine = find_mine(round, bench.harness().rank());
    if (mine && mine->sender != bench.harness().rank()) serve(bench, trip, mine->sender, buffers);
    if (mine && mine->sender == bench.harness().rank()) {
        auto& repetition =
            repetitions.try_emplace({mine->sender, mine->peers}, bench.stopping_rule())
                .first->second;
        while (lead_batch(bench, trip, *mine, buffers, repetition) && sweep == Sweep::the_rest) {
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

std::vector<Measured> share(const Bench& bench, const MeetingPlan& plan,
                            const Repetitions& repetitions) {
    std::vector<Measured> all;
    for (const auto& round : one_by_one(plan.rounds)) {
        const auto& meeting = round.front();
        Measured measured;
        const auto found = repetitions.find({meeting.sender, meeting.peers});
        if (found != repetitions.end()) measured = sum_up(found->second);
        share_from(bench.harness(), meeting.sender, measured);
        auto& point = measured.point;
        point.root = meeting.sender;
        point.peer = meeting.peers[0];
        point.second_peer = meeting.peers.size() > 1 ? meeting.peers[1] : -1;
        point.message_bytes = plan.there_bytes;
        point.reply_bytes = plan.back_bytes;
        all.push_back(std::move(measured));
    }
    return all;
}

}  // namespace

Result<std::vector<Measured>> measure_meetings(const Bench& bench, const MeetingPlan& plan) {
    Buffers buffers;
    bool short_of_memory = false;
    try {
        buffers.there.resize(plan.there_bytes);
        buffers.back.resize(plan.back_bytes);
    } catch (const std::exception&) {
        short_of_memory = true;
    }
    if (bench.harness().any(short_of_memory))
        return Failure{LW_ERR_MEMORY, "no memory for messages of " +
                                          format_size(plan.there_bytes) + " and " +
                                          format_size(plan.back_bytes) + " bytes"};
    Repetitions repetitions;
    for (const auto sweep : {Sweep::first_batch, Sweep::the_rest}) {
        for (const auto& round : plan.rounds) {
            hold_round(bench, *plan.trip, round, sweep, buffers, repetitions);
        }
    }
    return share(bench, plan, repetitions);
}

}  // namespace lanewise::measure
