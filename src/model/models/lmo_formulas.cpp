// SPDX-License-Identifier: BSD-3-Clause
//
// The papers' closed formulas of LMO.
//
// A linear scatter is the root's processor n - 1 times and then the slowest of
// the others; it takes the last to be the slowest, so it is never below what
// the schedule costs, and above where a slow rank is served early.

#include <algorithm>

#include "model/models/lmo.hpp"

namespace lanewise::model::lmo {
namespace {

const LmoProcessor& processor(const Lmo& model, int rank) {
    return model.processors[static_cast<std::size_t>(rank)];
}

// The link and the processor at its far end.
double beyond_s(const Lmo& model, int from, int to, std::int64_t bytes) {
    const auto size = static_cast<double>(bytes);
    return model.links.at(from, to).time_s(size) + processor(model, to).time_s(size);
}

// The subtree of `span` ranks that begins at relative rank `head`, largest child first.
double subtree_s(const Lmo& model, int root, int head, int span, std::int64_t block_bytes) {
    const int ranks = model.links.ranks();
    const auto absolute = [&](int relative) { return (relative + root) % ranks; };
    double sender_s = 0.0;
    double last_s = 0.0;
    int step = 1;
    while (step * 2 < span) step *= 2;
    for (; span > 1 && step >= 1; step /= 2) {
        if (step >= span) continue;
        const int blocks = span - step;
        const auto bytes = block_bytes * blocks;
        sender_s += processor(model, absolute(head)).time_s(static_cast<double>(bytes));
        const double arrived_s =
            sender_s + beyond_s(model, absolute(head), absolute(head + step), bytes);
        last_s = std::max(last_s, arrived_s + subtree_s(model, root, head + step, blocks,
                                                        block_bytes));
        span = step;
    }
    return std::max(sender_s, last_s);
}

}  // namespace

double message_s(const Lmo& model, int from, int to, std::int64_t bytes) {
    return processor(model, from).time_s(static_cast<double>(bytes)) +
           beyond_s(model, from, to, bytes);
}

double linear_scatter_s(const Lmo& model, int root, std::int64_t block_bytes) {
    const int ranks = model.links.ranks();
    double slowest_s = 0.0;
    for (int i = 0; i < ranks; ++i) {
        if (i != root) slowest_s = std::max(slowest_s, beyond_s(model, root, i, block_bytes));
    }
    return (ranks - 1) * processor(model, root).time_s(static_cast<double>(block_bytes)) +
           slowest_s;
}

double linear_gather_s(const Lmo& model, int root, std::int64_t block_bytes,
                       const std::optional<GatherRegion>& region) {
    const int ranks = model.links.ranks();
    double slowest_s = 0.0;
    double sum_s = 0.0;
    for (int i = 0; i < ranks; ++i) {
        if (i == root) continue;
        const double one_s = beyond_s(model, root, i, block_bytes);
        slowest_s = std::max(slowest_s, one_s);
        sum_s += one_s;
    }
    const bool serial = region && region->serial(block_bytes);
    return (ranks - 1) * processor(model, root).time_s(static_cast<double>(block_bytes)) +
           (serial ? sum_s : slowest_s);
}

double binomial_scatter_s(const Lmo& model, int root, std::int64_t block_bytes) {
    return subtree_s(model, root, 0, model.links.ranks(), block_bytes);
}

double chain_bcast_s(const Lmo& model, int root, std::int64_t bytes) {
    const int ranks = model.links.ranks();
    double sum_s = 0.0;
    for (int hop = 0; hop + 1 < ranks; ++hop) {
        sum_s += message_s(model, (root + hop) % ranks, (root + hop + 1) % ranks, bytes);
    }
    return sum_s;
}

}  // namespace lanewise::model::lmo
