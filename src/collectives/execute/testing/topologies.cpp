// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/testing/topologies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>
#include <utility>

namespace lanewise::testing {
namespace {

bool has_twice(const std::vector<int>& ranks) {
    std::set<int> seen;
    for (const int rank : ranks) {
        if (rank != MPI_PROC_NULL && !seen.insert(rank).second) return true;
    }
    return false;
}

}  // namespace

Topology::Topology(std::mt19937& random, MPI_Comm comm, Edges edges) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const auto kind = random() % 3;
    if (kind == 0) make_grid(random, comm, ranks);
    if (kind == 1) make_graph(random, comm, rank, ranks);
    if (kind == 2) make_distributed_graph(random, comm, rank, ranks, edges);
    const int mine = has_twice(sources_) || has_twice(destinations_) ? 1 : 0;
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    repeats_ = any != 0;
    // A nonblocking call follows rules where the ranks have met in a blocking one.
    MPI_Barrier(comm_);
}

Topology::~Topology() {
    MPI_Comm_free(&comm_);
}

void Topology::make_grid(std::mt19937& random, MPI_Comm comm, int ranks) {
    const int dimensions = 1 + static_cast<int>(random() % 3);
    std::array<int, 3> extents{};
    std::array<int, 3> periods{};
    for (auto& period : periods) period = static_cast<int>(random() % 2);
    MPI_Dims_create(ranks, dimensions, extents.data());
    MPI_Cart_create(comm, dimensions, extents.data(), periods.data(), 0, &comm_);
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        std::array<int, 2> both{};
        MPI_Cart_shift(comm_, dimension, 1, &both[0], &both[1]);
        sources_.insert(sources_.end(), both.begin(), both.end());
    }
    destinations_ = sources_;
    description_ =
        fmt::format("grid of {}, periods {}", fmt::join(extents, "x"), fmt::join(periods, " "));
}

void Topology::make_graph(std::mt19937& random, MPI_Comm comm, int rank, int ranks) {
    std::vector<std::vector<int>> neighbors(static_cast<std::size_t>(ranks));
    for (int one = 0; one < ranks; ++one) {
        for (int other = one; other < ranks; ++other) {
            if (random() % 3 != 0) continue;
            neighbors[static_cast<std::size_t>(one)].push_back(other);
            if (other != one) neighbors[static_cast<std::size_t>(other)].push_back(one);
        }
    }
    std::vector<int> ends;
    std::vector<int> edges;
    for (const auto& of_one : neighbors) {
        edges.insert(edges.end(), of_one.begin(), of_one.end());
        ends.push_back(static_cast<int>(edges.size()));
    }
    edges.push_back(0); /* so that it has an address */
    MPI_Graph_create(comm, ranks, ends.data(), edges.data(), 0, &comm_);
    sources_ = destinations_ = neighbors[static_cast<std::size_t>(rank)];
    description_ = fmt::format("graph of {} edges", ends.back());
}

void Topology::make_distributed_graph(std::mt19937& random, MPI_Comm comm, int rank, int ranks,
                                      Edges edges) {
    const bool once = random() % 2 == 0;
    std::set<std::pair<int, int>> seen;
    const auto count = random() % static_cast<unsigned>(2 * ranks + 1);
    const auto any_rank = [&] { return static_cast<int>(random() % static_cast<unsigned>(ranks)); };
    const auto add = [&](int from, int to) {
        if (!seen.insert({from, to}).second && once) return;
        if (to == rank) sources_.push_back(from);
        if (from == rank) destinations_.push_back(to);
    };
    for (unsigned edge = 0; edge < count; ++edge) {
        const int from = any_rank();
        const int to = any_rank();
        add(from, to);
        if (edges == Edges::both_ways) add(to, from);
    }
    int nobody = 0;
    MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources_.size()),
                                   sources_.empty() ? &nobody : sources_.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(destinations_.size()),
                                   destinations_.empty() ? &nobody : destinations_.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_);
    description_ = fmt::format("distributed graph of up to {} edges", count);
}

}  // namespace lanewise::testing
