// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbourhood collectives: on a Cartesian grid of two dimensions, periodic,
// as square as the ranks allow, with four neighbours; and on a graph where each
// rank sends to the next two and receives from the two before.

#include "measure/kernels/kernels.hpp"

namespace lanewise::measure {
namespace {

#ifdef LANEWISE_SIMULATED
constexpr const char *lacks = "neighbourhood collectives"; /* SimGrid only declares them */
#else
constexpr const char *lacks = nullptr;
#endif
constexpr int grid_neighbours = 4;
constexpr int graph_neighbours = 2;

struct Neighbourhood {
    MPI_Comm comm = MPI_COMM_NULL;
    std::vector<int> counts;
    std::vector<int> places;

    ~Neighbourhood() {
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
    void describe(const Exchange& e, int neighbours) {
        for (int i = 0; i < neighbours; ++i) {
            counts.push_back(e.count);
            places.push_back(i * e.count);
        }
    }
};

int make_grid(Exchange& e) {
    auto state = std::make_shared<Neighbourhood>();
    state->describe(e, grid_neighbours);
    int dims[2] = {0, 0};
    const int periods[2] = {1, 1};
    e.state = state;
    return first_failure({MPI_Dims_create(e.size, 2, dims),
                          MPI_Cart_create(e.comm, 2, dims, periods, 0, &state->comm)});
}

int make_graph(Exchange& e) {
    auto state = std::make_shared<Neighbourhood>();
    state->describe(e, graph_neighbours);
    e.state = state;
    const auto rank_at = [&e](int distance) {
        return ((e.rank + distance) % e.size + e.size) % e.size;
    };
    const int before[graph_neighbours] = {rank_at(-1), rank_at(-2)};
    const int after[graph_neighbours] = {rank_at(1), rank_at(2)};
    return MPI_Dist_graph_create_adjacent(e.comm, graph_neighbours, before, MPI_UNWEIGHTED,
                                          graph_neighbours, after, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                          0, &state->comm);
}

int allgather(Exchange& e) {
    return MPI_Neighbor_allgather(e.send, e.count, e.type, e.receive, e.count, e.type,
                                  state_of<Neighbourhood>(e).comm);
}

int allgatherv(Exchange& e) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Neighbor_allgatherv(e.send, e.count, e.type, e.receive, state.counts.data(),
                                   state.places.data(), e.type, state.comm);
}

int alltoall(Exchange& e) {
    return MPI_Neighbor_alltoall(e.send, e.count, e.type, e.receive, e.count, e.type,
                                 state_of<Neighbourhood>(e).comm);
}

int alltoallv(Exchange& e) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Neighbor_alltoallv(e.send, state.counts.data(), state.places.data(), e.type,
                                  e.receive, state.counts.data(), state.places.data(), e.type,
                                  state.comm);
}

}  // namespace

Entries neighbourhood_kernels() {
    constexpr auto one = Blocks::one;
    constexpr auto two = Blocks::two;
    constexpr auto four = Blocks::four;
    return {
        {.name = "grid_allgather", .shape = all_ranks(one, four), .call = allgather,
         .prepare = make_grid, .lacks = lacks},
        {.name = "grid_allgatherv", .shape = all_ranks(one, four), .call = allgatherv,
         .prepare = make_grid, .lacks = lacks},
        {.name = "grid_alltoall", .shape = all_ranks(four, four), .call = alltoall,
         .prepare = make_grid, .lacks = lacks},
        {.name = "grid_alltoallv", .shape = all_ranks(four, four), .call = alltoallv,
         .prepare = make_grid, .lacks = lacks},
        {.name = "graph_allgather", .shape = all_ranks(one, two), .call = allgather,
         .prepare = make_graph, .lacks = lacks},
        {.name = "graph_allgatherv", .shape = all_ranks(one, two), .call = allgatherv,
         .prepare = make_graph, .lacks = lacks},
        {.name = "graph_alltoall", .shape = all_ranks(two, two), .call = alltoall,
         .prepare = make_graph, .lacks = lacks},
        {.name = "graph_alltoallv", .shape = all_ranks(two, two), .call = alltoallv,
         .prepare = make_graph, .lacks = lacks},
    };
}

}  // namespace lanewise::measure
