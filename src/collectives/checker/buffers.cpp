// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/checker/buffers.hpp"

#include <algorithm>

namespace lanewise::collectives {
namespace {

using model::Place;

// Where the blocks of a trial lie, and how far they reach.
struct Blocks {
    const Trial& trial;

    std::int64_t count(int rank) const {
        return trial.counts.empty() ? trial.count : trial.counts[static_cast<std::size_t>(rank)];
    }
    std::int64_t offset(int rank) const {
        return trial.offsets.empty() ? trial.count * rank
                                     : trial.offsets[static_cast<std::size_t>(rank)];
    }
    std::int64_t extent() const {
        std::int64_t reach = 0;
        for (int r = 0; r < trial.ranks; ++r) reach = std::max(reach, offset(r) + count(r));
        return reach;
    }
};

struct Filling {
    Buffers& buffers;
    Term rank;

    // The caller's buffer of `units`, filled with what the rank gives.
    void give(std::int64_t units) {
        buffers.extents[0].units = units;
        if (units > 0) buffers.send.push_back({0, units, rank, 0});
    }
    void give_blocks(const Blocks& blocks) {
        buffers.extents[0].units = blocks.extent();
        for (int r = 0; r < blocks.trial.ranks; ++r) {
            const auto at = blocks.offset(r);
            if (blocks.count(r) > 0) buffers.send.push_back({at, at + blocks.count(r), rank, at});
        }
    }
    void expect(std::int64_t begin, std::int64_t count, Term term, std::int64_t index) {
        buffers.extents[1].units = std::max(buffers.extents[1].units, begin + count);
        if (count > 0) buffers.expected.push_back({{begin, begin + count, term, index}});
    }
    void expect_reduced(std::int64_t count, std::int64_t index, int ranks) {
        expect(0, count, 0, index);
        for (auto& part : buffers.expected) part.reduced_ranks = ranks;
    }
    void expect_blocks_of_all(const Blocks& blocks, std::int64_t index) {
        for (int r = 0; r < blocks.trial.ranks; ++r) {
            expect(blocks.offset(r), blocks.count(r), r, index);
        }
    }
    // Blocks of an uneven exchange, each at the same place on both sides.
    void exchange_blocks(const Trial& trial) {
        for (int peer = 0; peer < trial.ranks; ++peer) {
            const auto sent = trial.block(rank, peer);
            const auto at = trial.offsets[sent];
            const auto end = at + trial.counts[sent];
            buffers.extents[0].units = std::max(buffers.extents[0].units, end);
            if (at < end) buffers.send.push_back({at, end, rank, at});
            const auto received = trial.block(peer, rank);
            expect(trial.offsets[received], trial.counts[received], peer, trial.offsets[received]);
        }
    }
    void exchange_with_neighbors(const Trial& trial) {
        const bool one_block = sends_one_block(trial.collective);
        for (std::size_t i = 0; i < trial.edges.size(); ++i) {
            const auto& edge = trial.edges[i];
            const auto begin = trial.send_offsets[i];
            const auto count = trial.counts[i];
            if (edge.to == rank) expect(trial.offsets[i], count, edge.from, begin);
            if (edge.from != rank) continue;
            // The one block is there once, and given on every edge.
            if (one_block) buffers.send.clear();
            buffers.extents[0].units = std::max(buffers.extents[0].units, begin + count);
            if (count > 0) buffers.send.push_back({begin, begin + count, rank, begin});
        }
    }
    // The place that MPI_IN_PLACE puts inside the other.
    void coincide(Place inner, Place outer, std::int64_t base) {
        auto& extent = buffers.extents[static_cast<std::size_t>(inner)];
        extent.memory = buffers.extents[static_cast<std::size_t>(outer)].memory;
        extent.base = base;
    }
};

void fill_rooted(const Trial& trial, int rank, const Blocks& blocks, Filling& filling) {
    const bool at_root = rank == trial.root;
    const bool in_place = trial.in_place && at_root;
    const auto own = blocks.offset(rank);
    switch (trial.collective) {
        case Collective::bcast:
            filling.expect(0, trial.count, trial.root, 0);
            if (at_root && trial.count > 0) {
                filling.buffers.receive.push_back({0, trial.count, trial.root, 0});
            }
            return;
        case Collective::scatter:
        case Collective::scatterv:
            if (at_root) filling.give_blocks(blocks);
            filling.expect(0, blocks.count(rank), trial.root, own);
            if (in_place) filling.coincide(Place::receive, Place::send, own);
            return;
        case Collective::gather:
        case Collective::gatherv:
            filling.give(blocks.count(rank));
            if (at_root) filling.expect_blocks_of_all(blocks, 0);
            if (in_place) filling.coincide(Place::send, Place::receive, own);
            return;
        default:  // reduce
            filling.give(trial.count);
            if (at_root) filling.expect_reduced(trial.count, 0, trial.ranks);
            if (in_place) filling.coincide(Place::send, Place::receive, 0);
    }
}

void fill(const Trial& trial, int rank, Filling& filling) {
    if (is_neighborhood(trial.collective)) return filling.exchange_with_neighbors(trial);
    const Blocks blocks{trial};
    const auto own = blocks.offset(rank);
    switch (trial.collective) {
        case Collective::barrier: return;
        case Collective::allgather:
        case Collective::allgatherv:
            filling.give(blocks.count(rank));
            filling.expect_blocks_of_all(blocks, 0);
            if (trial.in_place) filling.coincide(Place::send, Place::receive, own);
            return;
        case Collective::alltoall:
            filling.give_blocks(blocks);
            filling.expect_blocks_of_all(blocks, own);
            return;
        case Collective::alltoallv:
        case Collective::alltoallw: filling.exchange_blocks(trial); return;
        case Collective::allreduce:
            filling.give(trial.count);
            filling.expect_reduced(trial.count, 0, trial.ranks);
            if (trial.in_place) filling.coincide(Place::send, Place::receive, 0);
            return;
        case Collective::reduce_scatter:
            filling.give_blocks(blocks);
            filling.expect_reduced(blocks.count(rank), own, trial.ranks);
            return;
        case Collective::scan:
            filling.give(trial.count);
            filling.expect_reduced(trial.count, 0, rank + 1);
            if (trial.in_place) filling.coincide(Place::send, Place::receive, 0);
            return;
        case Collective::exscan:
            filling.give(trial.count);
            if (rank > 0) filling.expect_reduced(trial.count, 0, rank);
            if (trial.in_place) filling.coincide(Place::send, Place::receive, 0);
            return;
        default: fill_rooted(trial, rank, blocks, filling);
    }
}

}  // namespace

void lay_out(const Trial& trial, int rank, std::int64_t scratch_units, Buffers& buffers) {
    for (int memory = 0; memory < memories; ++memory) buffers.extents[memory] = {memory, 0, 0};
    buffers.extents[2].units = scratch_units;
    buffers.send.clear();
    buffers.receive.clear();
    buffers.expected.clear();
    Filling filling{buffers, rank};
    fill(trial, rank, filling);
}

}  // namespace lanewise::collectives
