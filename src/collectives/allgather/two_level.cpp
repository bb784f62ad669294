// SPDX-License-Identifier: BSD-3-Clause
//
// Two-level allgather: on each host a gather to its leader, among the leaders Bruck's allgather,
// and on each host a broadcast from its leader of what has arrived in each round. The blocks stand
// in a row that begins with those of the own host and are put in their places at the end.
// Cost, on h hosts of k ranks each: ceil(log2(h)) a + b (n - k) M between hosts and
// ceil(log2(k)) (2a + b n M) inside.

#include <algorithm>
#include <span>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/hosts.hpp"
#include "collectives/scratch_bound.hpp"
#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

/* What a leader sends to the one so many hosts before it, and receives from the one so many behind
   it: the blocks of so many hosts. */
struct Round {
    int distance = 1;
    int hosts = 1;
};

std::vector<Round> rounds_of(int hosts) {
    std::vector<Round> rounds;
    for (int distance = 1; distance < hosts; distance *= 2) {
        // The last round lacks no more than make up all hosts.
        rounds.push_back({distance, std::min(distance, hosts - distance)});
    }
    return rounds;
}

/* The own host is first, so that all ranks of a host have the same row. */
HostRow row_from_own_host(const CallShape& shape) {
    auto hosts = hosts_of(shape, 0);
    const auto own = HostRow(shape, hosts).host;
    std::rotate(hosts.begin(), hosts.begin() + own, hosts.end());
    return {shape, hosts};
}

/* The steps of one rank. */
class RankSteps {
  public:
    RankSteps(const CallShape& shape, Builder& steps)
        : steps_(steps),
          hosts_(row_from_own_host(shape)),
          row_(steps, shape, hosts_.order),
          tree_(binomial_tree(hosts_.place, hosts_.size(0))),
          rounds_(rounds_of(hosts_.hosts())) {
        parts_.push_back({0, hosts_.begin(1)});
        for (const auto& [distance, hosts] : rounds_) {
            parts_.push_back({hosts_.begin(distance), hosts_.begin(distance + hosts)});
        }
    }

    void add() { row_.deliver(steps_, hosts_.place == 0 ? lead() : follow()); }

  private:
    /* Nodes of the row that follow one another. */
    struct Part {
        int begin = 0;
        int end = 0;
    };

    Slice at(const Part& part) const { return row_.at(part.begin); }
    std::int64_t units(const Part& part) const { return row_.bounds.size(part.begin, part.end); }

    /* Takes the blocks of the ranks below this one; answers when they are here. */
    std::vector<StepId> collect() {
        std::vector<StepId> here;
        for (auto child = tree_.children.rbegin(); child != tree_.children.rend(); ++child) {
            const Part part{child->rank, child->rank + child->subtree};
            here.push_back(steps_.receive(hosts_.rank_on(0, child->rank), at(part), units(part)));
        }
        return here;
    }

    StepId keep_own() {
        const Part part{hosts_.place, hosts_.place + 1};
        return steps_.copy({Place::send, 0}, at(part), units(part));
    }

    void hand_down(const Part& part, std::span<const StepId> after) {
        for (const auto& child : tree_.children) {
            steps_.send_after(after, hosts_.rank_on(0, child.rank), at(part), units(part));
        }
    }

    std::vector<StepId> lead() {
        auto here = collect();
        std::vector<StepId> received;
        for (std::size_t i = 0; i < rounds_.size(); ++i) {
            const auto& part = parts_[i + 1];
            const int from = hosts_.leader(rounds_[i].distance);
            received.push_back(steps_.receive(from, at(part), units(part)));
        }
        here.push_back(keep_own());
        for (std::size_t i = 0; i < rounds_.size(); ++i) {
            const auto& [distance, hosts] = rounds_[i];
            const Part sent{0, hosts_.begin(hosts)};
            // Other hosts wait longest, so that theirs goes first.
            const int to = hosts_.leader(hosts_.hosts() - distance);
            steps_.send_after(here, to, at(sent), units(sent));
            hand_down(parts_[i], here);
            here.push_back(received[i]);
        }
        hand_down(parts_.back(), here);
        return here;
    }

    std::vector<StepId> follow() {
        auto here = collect();
        here.push_back(keep_own());
        const int parent = hosts_.rank_on(0, tree_.parent);
        const Part below{hosts_.place, hosts_.place + tree_.subtree};
        const auto sent = steps_.send_after(here, parent, at(below), units(below));
        std::vector<StepId> arrived;
        for (const auto& part : parts_) {
            arrived.push_back(steps_.receive(parent, at(part), units(part), {sent}));
        }
        for (std::size_t i = 0; i < parts_.size(); ++i) hand_down(parts_[i], {&arrived[i], 1});
        return arrived;
    }

    Builder& steps_;
    const HostRow hosts_;
    const Row row_;
    const Node tree_; /* of the own host */
    const std::vector<Round> rounds_;
    std::vector<Part> parts_; /* those of the own host, then what arrives in each round */
};

model::Schedule build(const CallShape& shape) {
    Builder steps;
    RankSteps(shape, steps).add();
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allgather_two_level{
    .collective = Collective::allgather,
    .name = "two_level",
    .source = "Kielmann et al., MagPIe, PPoPP 1999",
    .cost = "ceil(log2(h))a+b(n-k)M+ceil(log2(k))(2a+bnM)",
    .needs = {.hosts = true},
    .build = build,
    .scratch_units_max = all_blocks_times<1>,
};
extern constexpr Algorithm allgatherv_two_level =
    vector_form(allgather_two_level, Collective::allgatherv, {.hosts = true});

}  // namespace lanewise::collectives
