// SPDX-License-Identifier: BSD-3-Clause
//
// Topology: a communicator with a random topology of any kind: a grid of one to three dimensions,
// periodic in some of them, a graph, or a distributed graph whose edges lead one way. There are
// ranks without neighbors, ranks that are their own neighbors, and in some distributed graphs and
// small grids ranks that are neighbors more than once.

#pragma once

#include <mpi.h>

#include <random>
#include <string>
#include <vector>

namespace lanewise::testing {

/* Whether edges lead one way, or each has another one that leads back. */
enum class Edges { one_way, both_ways };

class Topology {
  public:
    /* Collective over `comm`, whose ranks all draw the same numbers. */
    Topology(std::mt19937& random, MPI_Comm comm, Edges edges);
    ~Topology();
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;

    MPI_Comm comm() const { return comm_; }
    const std::string& describe() const { return description_; }
    /* Whether some rank is a neighbor of another more than once. */
    bool repeats() const { return repeats_; }
    /* Of this rank, by block; some may be MPI_PROC_NULL. */
    const std::vector<int>& sources() const { return sources_; }
    const std::vector<int>& destinations() const { return destinations_; }

  private:
    void make_grid(std::mt19937& random, MPI_Comm comm, int ranks);
    void make_graph(std::mt19937& random, MPI_Comm comm, int rank, int ranks);
    void make_distributed_graph(std::mt19937& random, MPI_Comm comm, int rank, int ranks,
                                Edges edges);

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::string description_;
    bool repeats_ = false;
    std::vector<int> sources_;
    std::vector<int> destinations_;
};

}  // namespace lanewise::testing
