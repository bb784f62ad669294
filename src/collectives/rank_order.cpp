// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/rank_order.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/tree.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::collectives {
namespace {

// Measured times differ by this much without meaning anything, and a rank out of its turn costs
// the root a copy.
constexpr double worth_moving = 0.98;

// Of the free ranks that the root reaches soonest so many are tried at a node. All would take the
// square of the number of ranks, on each of them.
constexpr int tried_max = 8;

double handing_over_s(const CallShape& shape, Direction direction, int parent, int child,
                      std::int64_t bytes) {
    const auto cost = direction == Direction::from_root ? shape.network->cost(parent, child, bytes)
                                                        : shape.network->cost(child, parent, bytes);
    // A message is received as it arrives, so the two interfaces are busy at once.
    return cost.send_s + std::max(cost.egress_s, cost.ingress_s) + cost.latency_s + cost.receive_s;
}

std::int64_t mean_block_bytes(const CallShape& shape) {
    std::int64_t units = shape.count;
    if (!shape.counts.empty()) {
        const auto sum = std::accumulate(shape.counts.begin(), shape.counts.end(), std::int64_t{0});
        units = sum / shape.ranks;
    }
    return units * shape.unit_bytes;
}

// Nodes but the root, those with the largest subtrees first.
std::vector<int> by_falling_subtree(int ranks) {
    std::vector<int> nodes(static_cast<std::size_t>(ranks) - 1);
    std::iota(nodes.begin(), nodes.end(), 1);
    std::stable_sort(nodes.begin(), nodes.end(), [ranks](int left, int right) {
        return binomial_subtree(left, ranks) > binomial_subtree(right, ranks);
    });
    return nodes;
}

// Ranks that stand at no node yet.
class Free {
  public:
    // By the time at which the root reaches them, the soonest last.
    Free(const CallShape& shape, Direction direction, std::int64_t bytes)
        : is_free_(static_cast<std::size_t>(shape.ranks), 1) {
        std::vector<double> needed_s(is_free_.size());
        for (int node = shape.ranks - 1; node > 0; --node) {
            const int rank = shape.absolute(node);
            needed_s[index(rank)] = handing_over_s(shape, direction, shape.root, rank, bytes);
            ranks_.push_back(rank);
        }
        std::stable_sort(ranks_.begin(), ranks_.end(), [&](int left, int right) {
            return needed_s[index(left)] > needed_s[index(right)];
        });
    }

    // `plain` unless taken, then a few others; `use` is called with each.
    template <typename Use>
    void some(int plain, Use use) const {
        if (is_free_[index(plain)] != 0) use(plain);
        int tried = 0;
        for (auto rank = ranks_.rbegin(); rank != ranks_.rend() && tried < tried_max; ++rank) {
            if (is_free_[index(*rank)] == 0) continue;
            use(*rank);
            ++tried;
        }
    }

    void take(int rank) {
        is_free_[index(rank)] = 0;
        while (!ranks_.empty() && is_free_[index(ranks_.back())] == 0) ranks_.pop_back();
    }

  private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    std::vector<char> is_free_;
    std::vector<int> ranks_;
};

}  // namespace

int RankOrder::node_of(int rank) const {
    if (rank_of_node.empty()) return (rank - root + ranks) % ranks;
    const auto found = std::find(rank_of_node.begin(), rank_of_node.end(), rank);
    return static_cast<int>(found - rank_of_node.begin());
}

RankOrder plain_order(const CallShape& shape) {
    return {.ranks = shape.ranks, .root = shape.root};
}

RankOrder lmo_order(const CallShape& shape, Direction direction) {
    const auto block_bytes = mean_block_bytes(shape);
    const auto plain = plain_order(shape);
    Free vacant(shape, direction, block_bytes * ((shape.ranks + 1) / 2));
    std::vector<int> order(static_cast<std::size_t>(shape.ranks), shape.root);
    for (const int node : by_falling_subtree(shape.ranks)) {
        const auto subtree = binomial_subtree(node, shape.ranks);
        const int parent = order[static_cast<std::size_t>(binomial_parent(node))];
        int chosen = -1;
        double least_s = 0.0;
        vacant.some(plain.rank_at(node), [&](int rank) {
            const double needed_s =
                handing_over_s(shape, direction, parent, rank, block_bytes * subtree);
            if (chosen >= 0 && needed_s >= least_s) return;
            least_s = chosen < 0 ? needed_s * worth_moving : needed_s;
            chosen = rank;
        });
        order[static_cast<std::size_t>(node)] = chosen;
        vacant.take(chosen);
    }
    return {.ranks = shape.ranks, .root = shape.root, .rank_of_node = std::move(order)};
}

}  // namespace lanewise::collectives
