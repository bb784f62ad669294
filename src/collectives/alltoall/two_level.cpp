// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level alltoall: what the ranks of one host send to those of another crosses in one message.
// For each other host, one rank leads its host: it collects the blocks of all ranks for that host,
// exchanges them for those that come from there, sorts these by receiver and hands them out. The
// ranks of a host lead in turn, so that none of them has all the work. Blocks within a host go
// straight to their receivers.
// Cost, on h hosts of k ranks each: ceil((h - 1) / k) (a + b k^2 M) between hosts, and inside
// (n - k)(2a / k + 2bM) + (k - 1)(a + bM).

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/hosts.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

/* The exchange with a host in which this rank leads its own. Blocks stand by their sender, and then
   by their receiver. */
struct Led {
    int host = 0;
    int counterpart = 0; /* the rank that leads the other host */
    Slice leaving = {};
    Slice coming = {};
    std::vector<StepId> collected = {};
    StepId left = model::no_step;
    StepId came = model::no_step;
};

/* One in which another rank of this host leads. */
struct Served {
    int host = 0;
    int leader = 0;
    PackedBlocks handed_out = {};
};

/* The steps of one rank. From one rank to another of its host go what the other collects, the block
   that is meant for it, and what is handed out, in this order on both. */
class RankSteps {
  public:
    RankSteps(const CallShape& shape, Builder& steps)
        : shape_(shape), steps_(steps), row_(shape, hosts_of(shape, 0)) {
        const int hosts = row_.hosts();
        for (int distance = 1; distance < hosts; ++distance) {
            const int host = (row_.host + distance) % hosts;
            const int leader = leader_of(row_.host, distance);
            if (leader == shape.rank) {
                led_.push_back({.host = host, .counterpart = leader_of(host, hosts - distance)});
            } else {
                served_.push_back({.host = host, .leader = leader});
            }
        }
    }

    void add() {
        for (auto& led : led_) collect(led);
        receive_inside();
        for (auto& led : led_) receive_across(led);
        for (auto& served : served_) receive_handed_out(served);
        for (const auto& served : served_) give(served);
        for (auto& led : led_) put_own(led);
        send_inside();
        for (auto& led : led_) send_across(led);
        for (const auto& led : led_) hand_out(led);
        for (const auto& served : served_) put_in_place(served);
    }

  private:
    int here() const { return row_.size(row_.host); }
    int rank_here(int place) const { return row_.rank_on(row_.host, place % here()); }
    int leader_of(int host, int distance) const {
        return row_.rank_on(host, (distance - 1) % row_.size(host));
    }

    /* What one rank and all ranks of another host send each other one way. */
    std::int64_t units(int host) const { return shape_.count * row_.size(host); }
    std::vector<Stretch> stretches(int host) const {
        return stretches_of(shape_, row_.order, row_.begin(host), row_.begin(host + 1));
    }

    void collect(Led& led) {
        led.leaving = steps_.scratch(units(led.host) * here());
        for (int place = 0; place < here(); ++place) {
            if (place == row_.place) continue;
            const auto at = led.leaving.at(units(led.host) * place);
            led.collected.push_back(steps_.receive(rank_here(place), at, units(led.host)));
        }
    }

    void receive_inside() {
        for (int distance = 1; distance < here(); ++distance) {
            const int from = rank_here(row_.place + here() - distance);
            steps_.receive(from, {Place::receive, shape_.offset_of(from)}, shape_.count);
        }
    }

    void receive_across(Led& led) {
        led.coming = steps_.scratch(units(led.host) * here());
        led.came = steps_.receive(led.counterpart, led.coming, units(led.host) * here());
    }

    /* Straight to where the blocks shall be, if they lie together there. */
    void receive_handed_out(Served& served) {
        const auto found = stretches(served.host);
        auto& at = served.handed_out.at;
        if (found.size() == 1) at = {Place::receive, found.front().in_buffer};
        if (found.size() > 1) at = steps_.scratch(units(served.host));
        served.handed_out.ready = steps_.receive(served.leader, at, units(served.host));
    }

    void give(const Served& served) {
        const auto found = stretches(served.host);
        const auto row = packed_blocks(steps_, found, {Place::send, 0}, model::no_step);
        steps_.send(served.leader, row.at, units(served.host), {row.ready});
    }

    void put_own(Led& led) {
        const auto own = led.leaving.at(units(led.host) * row_.place);
        for (const auto& stretch : stretches(led.host)) {
            led.collected.push_back(steps_.copy({Place::send, stretch.in_buffer},
                                                own.at(stretch.in_row), stretch.count));
        }
    }

    void send_inside() {
        for (int distance = 1; distance < here(); ++distance) {
            const int to = rank_here(row_.place + distance);
            steps_.send(to, {Place::send, shape_.offset_of(to)}, shape_.count);
        }
        const auto own = shape_.offset_of(shape_.rank);
        steps_.copy({Place::send, own}, {Place::receive, own}, shape_.count);
    }

    void send_across(Led& led) {
        led.left = steps_.send_after(led.collected, led.counterpart, led.leaving,
                                     units(led.host) * here());
    }

    /* Blocks are sorted where those stood that have left. */
    void hand_out(const Led& led) {
        for (int place = 0; place < here(); ++place) {
            const bool is_own = place == row_.place;
            const auto sorted = led.leaving.at(units(led.host) * place);
            std::vector<StepId> after{led.came, led.left};
            for (int sender = 0; sender < row_.size(led.host); ++sender) {
                const auto number = std::int64_t{sender} * here() + place;
                const int from = row_.rank_on(led.host, sender);
                const auto to = is_own ? Slice{Place::receive, shape_.offset_of(from)}
                                       : sorted.at(shape_.count * sender);
                const auto copied = steps_.copy_after(after, led.coming.at(shape_.count * number),
                                                      to, shape_.count);
                after.assign(1, copied);
            }
            if (!is_own) steps_.send_after(after, rank_here(place), sorted, units(led.host));
        }
    }

    void put_in_place(const Served& served) {
        const auto& [at, ready] = served.handed_out;
        if (at.place != Place::scratch) return;
        for (const auto& stretch : stretches(served.host)) {
            steps_.copy(at.at(stretch.in_row), {Place::receive, stretch.in_buffer}, stretch.count,
                        {ready});
        }
    }

    const CallShape& shape_;
    Builder& steps_;
    const HostRow row_;
    std::vector<Led> led_;
    std::vector<Served> served_;
};

model::Schedule build(const CallShape& shape) {
    Builder steps;
    RankSteps(shape, steps).add();
    return steps.finish();
}

/* A rank leads its host in exchanges with a few others, and has what all ranks of both give one
   another; with the rest it has its own blocks. Each of these once as it leaves and once as it
   comes. */
std::int64_t scratch_units_max(const CallShape& shape) {
    const auto hosts = hosts_of(shape, 0);
    const auto number = static_cast<std::int64_t>(hosts.size());
    std::int64_t largest = 0;
    for (const auto& ranks : hosts) largest = std::max(largest, std::ssize(ranks));
    std::int64_t most = 0;
    for (const auto& ranks : hosts) {
        const auto here = std::ssize(ranks);
        const auto led = (number - 1 + here - 1) / here;
        const auto elsewhere = shape.ranks - here;
        most = std::max(most, std::min(led * largest, elsewhere) * here + elsewhere);
    }
    return 2 * most * shape.count;
}

}  // namespace

extern constexpr Algorithm alltoall_two_level{
    .collective = Collective::alltoall,
    .name = "two_level",
    .source = "Traff and Rougier, EuroMPI 2014, with leaders in turn",
    .cost = "ceil((h-1)/k)(a+bk^2M)+(n-k)(2a/k+2bM)+(k-1)(a+bM)",
    .needs = {.hosts = true},
    .build = build,
    .scratch_units_max = scratch_units_max,
};

}  // namespace lanewise::collectives
