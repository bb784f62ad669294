// SPDX-License-Identifier: BSD-3-Clause
//
// See global_clock.hpp.

#include "measure/clock_sync/global_clock.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace lanewise::measure {
namespace {

constexpr int residual_exchanges = 100;

// Offsets in a line at least, however slow the link.
constexpr int fit_points_min = 20;

using Now = std::function<double()>;

// What a client sends: a question, or that there are no more.
constexpr char question = '?';
constexpr char enough = '.';

void answer(const Harness& harness, int peer, const Now& now) {
    while (harness.receive_value<char>(peer) == question) harness.send_value(now(), peer);
}

Offset ask(const Harness& harness, int peer, int exchanges, const Now& now) {
    Bracket bracket;
    for (int i = 0; i < exchanges; ++i) {
        const double sent = now();
        harness.send_value(question, peer);
        const double stamp = harness.receive_value<double>(peer);
        bracket.add(sent, stamp, now());
    }
    return bracket.offset();
}

// The client's offsets to the reference's global time, spread over the span. The
// span begins when the reference is ready: one that is still busy would push all
// later offsets together and leave the slope to chance.
ClockModel learn_clock(const Harness& harness, int reference, const Clock& clock,
                       const SyncOptions& options) {
    std::vector<Offset> offsets;
    harness.receive_value<char>(reference);
    const double begin_s = clock.now_s();
    const double pause_s = options.span_s / options.fit_points;
    for (int i = 0; i < options.fit_points; ++i) {
        // Over a slow link the span is kept and fewer offsets must do.
        if (i >= fit_points_min && clock.now_s() > begin_s + options.span_s) break;
        while (clock.now_s() < begin_s + i * pause_s) sched_yield();
        offsets.push_back(
            ask(harness, reference, options.exchanges, [&] { return clock.now_s(); }));
    }
    harness.send_value(enough, reference);
    return fit_clock(offsets);
}

void serve_clock(const Harness& harness, int client, const Clock& clock, const ClockModel& model) {
    harness.send_value('!', client);
    answer(harness, client, [&] { return model.global_s(clock.now_s()); });
}

// HCA3 over `members`. Where ranks share processors, one pair at a time exchanges
// time stamps while all others sleep, since a rank that waits for a processor in
// the middle of an exchange reads the wrong time.
ClockModel synchronise_members(const Harness& harness, const std::vector<int>& members,
                               const Clock& clock, const SyncOptions& options) {
    ClockModel model;
    for (const auto& round : hca3_rounds(static_cast<int>(members.size()))) {
        for (const auto& pair : round) {
            const int reference = members[static_cast<std::size_t>(pair.reference)];
            const int client = members[static_cast<std::size_t>(pair.client)];
            if (harness.rank() == reference) serve_clock(harness, client, clock, model);
            if (harness.rank() == client) model = learn_clock(harness, reference, clock, options);
            if (options.waiting == Waiting::asleep) harness.sleeping_barrier();
        }
    }
    return model;
}

// For each rank, the first rank of its host.
std::vector<int> host_leaders(const Harness& harness) {
    MPI_Comm host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(harness.comm(), MPI_COMM_TYPE_SHARED, harness.rank(), MPI_INFO_NULL,
                              &host));
    int leader = harness.rank();
    const Harness inside(host);
    check(MPI_Comm_free(&host));
    inside.broadcast_value(leader);
    const auto mine = static_cast<double>(leader);
    std::vector<int> leaders;
    for (const auto& row : harness.collect(std::span(&mine, 1))) {
        leaders.push_back(static_cast<int>(row.front()));
    }
    return leaders;
}

}  // namespace

std::vector<std::vector<SyncPair>> hca3_rounds(int member_count) {
    std::vector<std::vector<SyncPair>> rounds;
    int whole = 1;
    while (2 * whole <= member_count) whole *= 2;
    for (int half = whole / 2; half >= 1; half /= 2) {
        auto& round = rounds.emplace_back();
        for (int reference = 0; reference < whole; reference += 2 * half) {
            round.push_back({reference, reference + half});
        }
    }
    if (whole == member_count) return rounds;
    auto& last = rounds.emplace_back();
    for (int client = whole; client < member_count; ++client) {
        last.push_back({client - whole, client});
    }
    return rounds;
}

std::vector<int> residual_ranks(int rank_count) {
    constexpr int most = 16;
    const int stride = std::max(1, (rank_count - 1 + most - 1) / most);
    std::vector<int> ranks;
    for (int rank = 1; rank < rank_count; rank += stride) ranks.push_back(rank);
    return ranks;
}

GlobalClock GlobalClock::synchronise(const Harness& harness, const Clock& clock,
                                     const SyncOptions& options) {
    GlobalClock global;
    global.clock_ = clock;
    std::vector<int> leaders(static_cast<std::size_t>(harness.size()));
    for (int r = 0; r < harness.size(); ++r) leaders[static_cast<std::size_t>(r)] = r;
    if (clock.scope == ClockScope::everywhere) leaders.assign(leaders.size(), 0);
    if (clock.scope == ClockScope::host) leaders = host_leaders(harness);

    std::vector<int> members;
    for (int r = 0; r < harness.size(); ++r) {
        if (leaders[static_cast<std::size_t>(r)] == r) members.push_back(r);
    }
    const int leader = leaders[static_cast<std::size_t>(harness.rank())];
    global.model_ = synchronise_members(harness, members, clock, options);
    if (leader == harness.rank()) {
        for (int r = 0; r < harness.size(); ++r) {
            const bool mine = leaders[static_cast<std::size_t>(r)] == leader && r != leader;
            if (mine) harness.send_value(global.model_, r);
        }
    } else {
        global.model_ = harness.receive_value<ClockModel>(leader);
    }
    global.synchronised_at_s_ = clock.now_s();
    return global;
}

Residual measure_residual(const Harness& harness, const GlobalClock& clock, Waiting waiting) {
    const auto now = [&] { return clock.now_s(); };
    double worst[2] = {0.0, 0.0};
    for (const int r : residual_ranks(harness.size())) {
        if (harness.rank() == 0) answer(harness, r, now);
        if (harness.rank() == r) {
            const auto offset = ask(harness, 0, residual_exchanges, now);
            harness.send_value(enough, 0);
            worst[0] = std::abs(offset.offset_s);
            worst[1] = offset.uncertainty_s;
        }
        if (waiting == Waiting::asleep) harness.sleeping_barrier();
    }
    harness.maximum(worst);
    return {worst[0], worst[1]};
}

}  // namespace lanewise::measure
