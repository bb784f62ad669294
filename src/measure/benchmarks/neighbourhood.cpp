// SPDX-License-Identifier: BSD-3-Clause
//
// Neighbourhood collectives: on a Cartesian grid of two dimensions, periodic,
// as square as the ranks allow, with four neighbours; the nonblocking forms on
// the same grid (`igrid_*`); on a grid of three dimensions (`grid3_alltoall`, the
// halo of IMB-P2P's Stencil3D); and on a graph where each rank sends to the next
// two and receives from the two before.
//
// The displacements of the v-forms are ints that count elements. Where the blocks lie further
// apart than an int can say, each is one element of a type of its own.

#include <climits>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

#ifdef LANEWISE_SIMULATED
constexpr const char *lacks = "neighbourhood collectives"; /* SimGrid only declares them */
#else
constexpr const char *lacks = nullptr;
#endif
constexpr int graph_neighbours = 2;

struct Neighbourhood {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype block = MPI_DATATYPE_NULL; /* where blocks lie far apart */
    MPI_Datatype type = MPI_BYTE;           /* of the counts and places */
    std::vector<int> counts;
    std::vector<int> places;
    std::vector<MPI_Aint> displacements_bytes;
    std::vector<MPI_Datatype> types;

    ~Neighbourhood() {
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
        if (block != MPI_DATATYPE_NULL) MPI_Type_free(&block);
    }
    /* An MPI error code where it cannot describe so many bytes. */
    int describe(const Exchange& e, int neighbours) {
        const bool far_apart = e.count > INT_MAX / neighbours;
        const int code = far_apart ? contiguous_type(e.message_bytes, &block) : MPI_SUCCESS;
        if (code != MPI_SUCCESS) return code;
        const int count = far_apart ? 1 : e.count;
        type = far_apart ? block : e.type;
        for (int i = 0; i < neighbours; ++i) {
            counts.push_back(count);
            places.push_back(i * count);
            displacements_bytes.push_back(static_cast<MPI_Aint>(e.message_bytes) * i);
            types.push_back(type);
        }
        return MPI_SUCCESS;
    }
};

template <std::size_t dimensions>
int make_grid(Exchange& e) {
    auto state = std::make_shared<Neighbourhood>();
    constexpr auto count = static_cast<int>(dimensions);
    const int described = state->describe(e, 2 * count);
    if (described != MPI_SUCCESS) return described;
    std::array<int, dimensions> dims{};
    std::array<int, dimensions> periods{};
    periods.fill(1);
    e.state = state;
    return first_failure(
        {MPI_Dims_create(e.size, count, dims.data()),
         MPI_Cart_create(e.comm, count, dims.data(), periods.data(), 0, &state->comm)});
}

int make_graph(Exchange& e) {
    auto state = std::make_shared<Neighbourhood>();
    const int described = state->describe(e, graph_neighbours);
    if (described != MPI_SUCCESS) return described;
    e.state = state;
    const auto rank_at = [&e](int distance) {
        return ((e.rank + distance) % e.size + e.size) % e.size;
    };
    const int before[graph_neighbours] = {rank_at(-1), rank_at(-2)};
    const int after[graph_neighbours] = {rank_at(1), rank_at(2)};
    return MPI_Dist_graph_create_adjacent(e.comm, graph_neighbours, before, MPI_UNWEIGHTED,
                                          graph_neighbours, after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                          &state->comm);
}

int allgather(Exchange& e) {
    return MPI_Neighbor_allgather(e.send, e.count, e.type, e.receive, e.count, e.type,
                                  state_of<Neighbourhood>(e).comm);
}

int allgatherv(Exchange& e) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Neighbor_allgatherv(e.send, e.count, e.type, e.receive, state.counts.data(),
                                   state.places.data(), state.type, state.comm);
}

int alltoall(Exchange& e) {
    return MPI_Neighbor_alltoall(e.send, e.count, e.type, e.receive, e.count, e.type,
                                 state_of<Neighbourhood>(e).comm);
}

int alltoallv(Exchange& e) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Neighbor_alltoallv(e.send, state.counts.data(), state.places.data(), state.type,
                                  e.receive, state.counts.data(), state.places.data(), state.type,
                                  state.comm);
}

int alltoallw(Exchange& e) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Neighbor_alltoallw(e.send, state.counts.data(), state.displacements_bytes.data(),
                                  state.types.data(), e.receive, state.counts.data(),
                                  state.displacements_bytes.data(), state.types.data(), state.comm);
}

int start_allgather(Exchange& e, MPI_Request *request) {
    return MPI_Ineighbor_allgather(e.send, e.count, e.type, e.receive, e.count, e.type,
                                   state_of<Neighbourhood>(e).comm, request);
}

int start_allgatherv(Exchange& e, MPI_Request *request) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Ineighbor_allgatherv(e.send, e.count, e.type, e.receive, state.counts.data(),
                                    state.places.data(), state.type, state.comm, request);
}

int start_alltoall(Exchange& e, MPI_Request *request) {
    return MPI_Ineighbor_alltoall(e.send, e.count, e.type, e.receive, e.count, e.type,
                                  state_of<Neighbourhood>(e).comm, request);
}

int start_alltoallv(Exchange& e, MPI_Request *request) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Ineighbor_alltoallv(e.send, state.counts.data(), state.places.data(), state.type,
                                   e.receive, state.counts.data(), state.places.data(), state.type,
                                   state.comm, request);
}

int start_alltoallw(Exchange& e, MPI_Request *request) {
    const auto& state = state_of<Neighbourhood>(e);
    return MPI_Ineighbor_alltoallw(e.send, state.counts.data(), state.displacements_bytes.data(),
                                   state.types.data(), e.receive, state.counts.data(),
                                   state.displacements_bytes.data(), state.types.data(), state.comm,
                                   request);
}

template <Start start>
int completed(Exchange& e) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(e, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

Origins from_graph(const Standpoint& s) {
    return {{{rank_at(s, -1)}}, {{rank_at(s, -2)}}};
}

// The rank before sent its first block here, the one before that its second. A rank that is both
// may send either first.
Origins exchanged_in_graph(const Standpoint& s) {
    if (s.size == 1) return {{{0}, 0, {1}}, {{0}, 1, {0}}};
    return {{{rank_at(s, -1)}, 0}, {{rank_at(s, -2)}, 1}};
}

/* The neighbours of a rank on a grid, in the order of MPI: before and after along the first
   dimension, then along the next. */
std::vector<int> neighbours(int rank, int size, std::size_t dimensions) {
    std::vector<int> dims(dimensions, 0);
    MPI_Dims_create(size, static_cast<int>(dimensions), dims.data());
    std::vector<int> found;
    int stride = size; /* between ranks that are neighbours along the dimension */
    for (const int length : dims) {
        stride /= length;
        const int place = rank / stride % length;
        for (const int step : {length - 1, 1}) {
            found.push_back(rank + ((place + step) % length - place) * stride);
        }
    }
    return found;
}

Origins from_grid(const Standpoint& s) {
    Origins all;
    for (const int there : neighbours(s.me, s.size, 2)) all.push_back({{there}});
    return all;
}

/* What comes from the one before was sent to the one after. Of the blocks that one rank sends to
   another, any may come first. */
template <std::size_t dimensions>
Origins exchanged_in_grid(const Standpoint& s) {
    Origins all;
    for (const int there : neighbours(s.me, s.size, dimensions)) {
        Origin origin{{there}, static_cast<int>(all.size()) ^ 1};
        const auto receivers = neighbours(there, s.size, dimensions);
        for (std::size_t i = 0; i < receivers.size(); ++i) {
            if (receivers[i] == s.me) origin.or_blocks.push_back(static_cast<int>(i));
        }
        all.push_back(origin);
    }
    return all;
}

struct Named {
    const char *name;
    BufferShape shape;
    int (*call)(Exchange&);
    int (*prepare)(Exchange&);
    Delivers delivers;
};

constexpr auto one = Blocks::one;
constexpr auto two = Blocks::two;
constexpr auto four = Blocks::four;
constexpr auto six = Blocks::six;

constexpr Named all[] = {
    {"grid_allgather", all_ranks(one, four), allgather, make_grid<2>, from_grid},
    {"grid_allgatherv", all_ranks(one, four), allgatherv, make_grid<2>, from_grid},
    {"grid_alltoall", all_ranks(four, four), alltoall, make_grid<2>, exchanged_in_grid<2>},
    {"grid_alltoallv", all_ranks(four, four), alltoallv, make_grid<2>, exchanged_in_grid<2>},
    {"grid_alltoallw", all_ranks(four, four), alltoallw, make_grid<2>, exchanged_in_grid<2>},
    {"igrid_allgather", all_ranks(one, four), completed<start_allgather>, make_grid<2>, from_grid},
    {"igrid_allgatherv", all_ranks(one, four), completed<start_allgatherv>, make_grid<2>,
     from_grid},
    {"igrid_alltoall", all_ranks(four, four), completed<start_alltoall>, make_grid<2>,
     exchanged_in_grid<2>},
    {"igrid_alltoallv", all_ranks(four, four), completed<start_alltoallv>, make_grid<2>,
     exchanged_in_grid<2>},
    {"igrid_alltoallw", all_ranks(four, four), completed<start_alltoallw>, make_grid<2>,
     exchanged_in_grid<2>},
    {"grid3_alltoall", all_ranks(six, six), alltoall, make_grid<3>, exchanged_in_grid<3>},
    {"graph_allgather", all_ranks(one, two), allgather, make_graph, from_graph},
    {"graph_allgatherv", all_ranks(one, two), allgatherv, make_graph, from_graph},
    {"graph_alltoall", all_ranks(two, two), alltoall, make_graph, exchanged_in_graph},
    {"graph_alltoallv", all_ranks(two, two), alltoallv, make_graph, exchanged_in_graph},
};

}  // namespace

Entries neighbourhood_benchmarks() {
    Entries entries;
    for (const auto& [name, shape, call, prepare, delivers] : all) {
        entries.push_back({.name = name,
                           .shape = shape,
                           .call = call,
                           .prepare = prepare,
                           .lacks = lacks,
                           .delivers = delivers});
    }
    return entries;
}

}  // namespace lanewise::measure
