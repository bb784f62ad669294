// SPDX-License-Identifier: BSD-3-Clause
//
// See global_clock.hpp.

#include "measure/clock_sync/global_clock.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace lanewise::measure {
namespace {

// Ranks whose residual is measured, at most; the sample is spread evenly.
constexpr int residual_ranks_max = 16;
constexpr int residual_exchanges = 100;

using Now = std::function<double()>;

void answer(const Harness& harness, int peer, int exchanges, const Now& now) {
    for (int i = 0; i < exchanges; ++i) {
        harness.receive_value<char>(peer);
        harness.send_value(now(), peer);
    }
}

Offset ask(const Harness& harness, int peer, int exchanges, const Now& now) {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    double at_s = 0.0;
    double best = high;
    for (int i = 0; i < exchanges; ++i) {
        const double sent = now();
        harness.send_value('?', peer);
        const double stamp = harness.receive_value<double>(peer);
        const double received = now();
        low = std::max(low, stamp - received);
        high = std::min(high, stamp - sent);
        if (received - sent >= best) continue;
        best = received - sent;
        at_s = 0.5 * (sent + received);
    }
    return {at_s, 0.5 * (low + high), 0.5 * std::abs(high - low)};
}

// The child's offsets to the parent's global time, spread over the span.
ClockModel learn(const Harness& harness, int parent, const Clock& clock,
                 const SyncOptions& options) {
    std::vector<Offset> offsets;
    const double begin = clock.now_s();
    const double pause = options.span_s / std::max(1, options.fit_points - 1);
    for (int i = 0; i < options.fit_points; ++i) {
        while (clock.now_s() < begin + i * pause) {
        }
        offsets.push_back(
            ask(harness, parent, options.exchanges, [&] { return clock.now_s(); }));
    }
    return fit_clock(offsets);
}

void teach(const Harness& harness, int child, const Clock& clock, const ClockModel& model,
           const SyncOptions& options) {
    answer(harness, child, options.fit_points * options.exchanges,
           [&] { return model.global_s(clock.now_s()); });
}

// HCA3 over `members`, of which this rank is number `me`.
ClockModel hca3(const Harness& harness, const std::vector<int>& members, int me,
                const Clock& clock, const SyncOptions& options) {
    ClockModel model;
    const int count = static_cast<int>(members.size());
    int whole = 1;
    while (2 * whole <= count) whole *= 2;
    const auto rank_of = [&](int member) { return members[static_cast<std::size_t>(member)]; };
    for (int half = whole / 2; half >= 1; half /= 2) {
        if (me >= whole || me % half != 0) continue;
        if (me % (2 * half) == 0) {
            teach(harness, rank_of(me + half), clock, model, options);
        } else {
            model = learn(harness, rank_of(me - half), clock, options);
        }
    }
    if (me >= whole) return learn(harness, rank_of(me - whole), clock, options);
    if (me + whole < count) teach(harness, rank_of(me + whole), clock, model, options);
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
    if (leader == harness.rank()) {
        const auto place = std::find(members.begin(), members.end(), leader);
        global.model_ = hca3(harness, members, static_cast<int>(place - members.begin()), clock,
                             options);
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

Residual measure_residual(const Harness& harness, const GlobalClock& clock) {
    const auto now = [&] { return clock.now_s(); };
    double worst[2] = {0.0, 0.0};
    const int stride = std::max(1, (harness.size() - 1) / residual_ranks_max);
    for (int r = 1; r < harness.size(); r += stride) {
        if (harness.rank() == 0) answer(harness, r, residual_exchanges, now);
        if (harness.rank() != r) continue;
        const auto offset = ask(harness, 0, residual_exchanges, now);
        worst[0] = std::abs(offset.offset_s);
        worst[1] = offset.uncertainty_s;
    }
    harness.maximum(worst);
    return {worst[0], worst[1]};
}

}  // namespace lanewise::measure
