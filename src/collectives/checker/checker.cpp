// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/checker/checker.hpp"

#include <fmt/format.h>

#include "collectives/checker/buffers.hpp"
#include "collectives/checker/order.hpp"
#include "collectives/checker/simulation.hpp"

namespace lanewise::collectives {
namespace {

// Stands for a count that a rank does not know. Any use of it makes a schedule that fails.
constexpr std::int64_t unknown_count = -1'000'003;

bool has_counts(Collective collective) {
    return is_sizeless(collective) || collective == Collective::reduce_scatter;
}

bool knows_blocks(const Trial& trial, int rank) {
    const bool root_only =
        trial.collective == Collective::scatterv || trial.collective == Collective::gatherv;
    return !root_only || rank == trial.root;
}

}  // namespace

Trial even_trial(Collective collective, int ranks, int root, std::int64_t count) {
    Trial trial{.collective = collective, .ranks = ranks, .root = root, .count = count};
    if (!has_counts(collective)) return trial;
    if (is_neighborhood(collective)) {
        trial.edges = grid_edges(ranks);
        for (const auto& edge : trial.edges) {
            trial.counts.push_back(count);
            trial.offsets.push_back(count * edge.received);
            trial.send_offsets.push_back(sends_one_block(collective) ? 0 : count * edge.sent);
        }
        return trial;
    }
    const int blocks = is_uneven_exchange(collective) ? ranks * ranks : ranks;
    trial.counts.assign(static_cast<std::size_t>(blocks), count);
    for (int block = 0; block < blocks; ++block) trial.offsets.push_back(count * block);
    return trial;
}

namespace {

/* What a rank knows of an uneven exchange or a neighborhood: the blocks that it sends, and those
   that it receives. */
struct OwnBlocks {
    std::vector<int> sources;
    std::vector<int> destinations;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> send_counts;
    std::vector<std::int64_t> send_offsets;

    OwnBlocks(const Trial& trial, int rank) {
        if (is_neighborhood(trial.collective)) {
            take_edges(trial, rank);
        } else {
            take_pairs(trial, rank);
        }
    }

    void show_to(CallShape& shape) const {
        shape.sources = sources;
        shape.destinations = destinations;
        shape.counts = counts;
        shape.offsets = offsets;
        shape.send_counts = send_counts;
        shape.send_offsets = send_offsets;
    }

  private:
    void take_edges(const Trial& trial, int rank) {
        for (std::size_t i = 0; i < trial.edges.size(); ++i) {
            const auto& edge = trial.edges[i];
            if (edge.to == rank) {
                sources.push_back(edge.from);
                counts.push_back(trial.counts[i]);
                offsets.push_back(trial.offsets[i]);
            }
            if (edge.from == rank) {
                destinations.push_back(edge.to);
                send_counts.push_back(trial.counts[i]);
                send_offsets.push_back(trial.send_offsets[i]);
            }
        }
    }

    void take_pairs(const Trial& trial, int rank) {
        for (int peer = 0; peer < trial.ranks; ++peer) {
            const auto received = trial.block(peer, rank);
            const auto sent = trial.block(rank, peer);
            counts.push_back(trial.counts[received]);
            offsets.push_back(trial.offsets[received]);
            send_counts.push_back(trial.counts[sent]);
            send_offsets.push_back(trial.offsets[sent]);
        }
    }
};

}  // namespace

void with_shape(const Trial& trial, int rank, const std::function<void(const CallShape&)>& use) {
    CallShape shape;
    shape.ranks = trial.ranks;
    shape.rank = rank;
    shape.root = trial.root;
    shape.count = trial.count;
    shape.counts = trial.counts;
    shape.offsets = trial.offsets;
    shape.segment = trial.segment;
    shape.lanes = trial.lanes;
    shape.hosts = trial.hosts;
    shape.sites = trial.sites;
    shape.network = trial.network;
    if (!trial.counts.empty()) shape.count = unknown_count;
    if (is_uneven_exchange(trial.collective) || is_neighborhood(trial.collective)) {
        const OwnBlocks own(trial, rank);
        own.show_to(shape);
        use(shape);
        return;
    }
    std::vector<std::int64_t> own_only;
    if (!trial.counts.empty() && !knows_blocks(trial, rank)) {
        shape.offsets = {};
        if (!trial.all_counts) {
            own_only.assign(trial.counts.size(), unknown_count);
            own_only[static_cast<std::size_t>(rank)] = shape.count_of(rank);
            shape.counts = own_only;
        }
    }
    use(shape);
}

std::vector<model::Schedule> schedules_of(const Algorithm& algorithm, const Trial& trial) {
    std::vector<model::Schedule> schedules;
    schedules.reserve(static_cast<std::size_t>(trial.ranks));
    for (int rank = 0; rank < trial.ranks; ++rank) {
        with_shape(trial, rank,
                   [&](const CallShape& shape) { schedules.push_back(algorithm.build(shape)); });
    }
    return schedules;
}

struct Checker::Memory {
    std::vector<Buffers> buffers;
    OrderCheck order;
    Simulation simulation;
};

Checker::Checker() : memory_(std::make_unique<Memory>()) {}
Checker::~Checker() = default;

std::string Checker::fault(const Trial& trial, std::span<const model::Schedule> schedules,
                           Sends sends) {
    auto& buffers = memory_->buffers;
    buffers.resize(std::max(buffers.size(), schedules.size()));
    for (int rank = 0; rank < trial.ranks; ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        lay_out(trial, rank, schedules[i].scratch_units, buffers[i]);
        const auto wrong = memory_->order.fault(schedules[i], buffers[i], rank, trial.ranks);
        if (!wrong.empty()) return fmt::format("rank {}: {}", rank, wrong);
    }
    return memory_->simulation.fault(trial, schedules, buffers, sends);
}

}  // namespace lanewise::collectives
