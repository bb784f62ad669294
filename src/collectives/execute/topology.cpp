// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/topology.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "collectives/neighborhood.hpp"

namespace lanewise::collectives {
namespace {

#ifndef LANEWISE_SIMULATED  // SMPI declares these functions and does not define them all

int size_of(MPI_Comm comm) {
    int ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    return ranks;
}

/* Open MPI 4.1 leaves a communicator that MPI_Comm_create_group makes the grid or the graph of the
   one that it was made from, with places for ranks that it does not have. */
bool is_own_grid(MPI_Comm comm, int dimensions) {
    std::vector<int> sides(static_cast<std::size_t>(dimensions) + 1);
    std::vector<int> wraps(sides.size());
    std::vector<int> own(sides.size());
    const int code = PMPI_Cart_get(comm, dimensions, sides.data(), wraps.data(), own.data());
    sides.pop_back();
    const int places = std::accumulate(sides.begin(), sides.end(), 1, std::multiplies());
    return code == MPI_SUCCESS && places == size_of(comm);
}

std::optional<Neighbors> on_grid(MPI_Comm comm) {
    int dimensions = 0;
    if (PMPI_Cartdim_get(comm, &dimensions) != MPI_SUCCESS) return std::nullopt;
    if (!is_own_grid(comm, dimensions)) return std::nullopt;
    Neighbors found;
    for (int dimension = 0; dimension < dimensions; ++dimension) {
        int before = MPI_PROC_NULL;
        int after = MPI_PROC_NULL;
        if (PMPI_Cart_shift(comm, dimension, 1, &before, &after) != MPI_SUCCESS)
            return std::nullopt;
        found.sources.insert(found.sources.end(), {before, after});
    }
    found.destinations = found.sources;
    return found;
}

/* Room for so many numbers, and an address also for none. */
class Room {
  public:
    explicit Room(int count) : count_(static_cast<std::size_t>(count)), numbers_(count_ + 1) {}
    int *data() { return numbers_.data(); }
    std::vector<int> taken() {
        numbers_.resize(count_);
        return std::move(numbers_);
    }

  private:
    std::size_t count_;
    std::vector<int> numbers_;
};

/* The same of a graph, all of which every rank knows. */
bool is_own_graph(MPI_Comm comm) {
    int places = 0;
    int edges = 0;
    if (PMPI_Graphdims_get(comm, &places, &edges) != MPI_SUCCESS) return false;
    Room index(places);
    Room neighbors(edges);
    const int code = PMPI_Graph_get(comm, places, edges, index.data(), neighbors.data());
    return code == MPI_SUCCESS &&
           std::ranges::all_of(neighbors.taken(), [ranks = size_of(comm)](int neighbor) {
               return neighbor >= 0 && neighbor < ranks;
           });
}

std::optional<Neighbors> in_graph(MPI_Comm comm) {
    int rank = 0;
    int degree = 0;
    PMPI_Comm_rank(comm, &rank);
    if (!is_own_graph(comm)) return std::nullopt;
    if (PMPI_Graph_neighbors_count(comm, rank, &degree) != MPI_SUCCESS) return std::nullopt;
    Room all(degree);
    if (PMPI_Graph_neighbors(comm, rank, degree, all.data()) != MPI_SUCCESS) return std::nullopt;
    const auto neighbors = all.taken();
    return Neighbors{neighbors, neighbors};
}

std::optional<Neighbors> in_distributed_graph(MPI_Comm comm) {
    int in = 0;
    int out = 0;
    int weighted = 0;
    if (PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) != MPI_SUCCESS) {
        return std::nullopt;
    }
    Room sources(in);
    Room source_weights(in);
    Room destinations(out);
    Room destination_weights(out);
    const int code = PMPI_Dist_graph_neighbors(
        comm, in, sources.data(), weighted != 0 ? source_weights.data() : MPI_UNWEIGHTED, out,
        destinations.data(), weighted != 0 ? destination_weights.data() : MPI_UNWEIGHTED);
    if (code != MPI_SUCCESS) return std::nullopt;
    return Neighbors{sources.taken(), destinations.taken()};
}

#endif

}  // namespace

std::optional<Neighbors> neighbors_in([[maybe_unused]] MPI_Comm comm) {
#ifndef LANEWISE_SIMULATED
    int topology = MPI_UNDEFINED;
    if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return std::nullopt;
    if (topology == MPI_CART) return on_grid(comm);
    if (topology == MPI_GRAPH) return in_graph(comm);
    if (topology == MPI_DIST_GRAPH) return in_distributed_graph(comm);
#endif
    return std::nullopt;
}

int tell_of_repeats(Neighbors& neighbors, MPI_Comm comm) {
    const int mine = repeats(neighbors.sources) || repeats(neighbors.destinations) ? 1 : 0;
    int any = 1;
    const int code = PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    neighbors.repeat_anywhere = any != 0;
    return code;
}

}  // namespace lanewise::collectives
