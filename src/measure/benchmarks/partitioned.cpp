// SPDX-License-Identifier: BSD-3-Clause
//
// Partitioned: the root sends one message in parts that become ready one after
// another (MPI 4, chapter 4); eight where the size allows, else one.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

#if defined(LANEWISE_HAS_PARTITIONED) && !defined(OPEN_MPI)
constexpr const char *lacks = nullptr;
constexpr int parts_max = 8;

struct Partitioned {
    MPI_Request request = MPI_REQUEST_NULL;
    int parts = 1;

    ~Partitioned() {
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
};

int make(Exchange& e) {
    constexpr int tag = 10;
    auto state = std::make_shared<Partitioned>();
    state->parts = e.count > 0 && e.count % parts_max == 0 ? parts_max : 1;
    e.state = state;
    const MPI_Count each = e.count / state->parts;
    if (e.rank == e.root)
        return MPI_Psend_init(e.send, state->parts, each, e.type, partner(e), tag, e.comm,
                              MPI_INFO_NULL, &state->request);
    if (e.rank != partner(e)) return MPI_SUCCESS;
    return MPI_Precv_init(e.receive, state->parts, each, e.type, e.root, tag, e.comm, MPI_INFO_NULL,
                          &state->request);
}

int partitioned(Exchange& e) {
    auto& state = state_of<Partitioned>(e);
    if (state.request == MPI_REQUEST_NULL) return MPI_SUCCESS;
    int code = MPI_Start(&state.request);
    for (int i = 0; i < state.parts && e.rank == e.root && code == MPI_SUCCESS; ++i) {
        code = MPI_Pready(i, state.request);
    }
    return first_failure({code, MPI_Wait(&state.request, MPI_STATUS_IGNORE)});
}
#else
// The first partitioned message makes Open MPI duplicate MPI_COMM_WORLD, which waits until all
// ranks have made one (5.0.11, and its sources since); 20 lines of C show it.
#ifdef LANEWISE_HAS_PARTITIONED
constexpr const char *lacks =
    "partitioned messages that wait for no other ranks, unlike those of Open MPI";
#else
constexpr const char *lacks = "MPI 4";
#endif
constexpr int (*make)(Exchange&) = nullptr;
constexpr int (*partitioned)(Exchange&) = nullptr;
#endif

}  // namespace

Entries partitioned_benchmarks() {
    return {{.name = "partitioned",
             .shape = all_ranks(Blocks::one, Blocks::one),
             .call = partitioned,
             .ranks_min = 2,
             .prepare = make,
             .lacks = lacks,
             .delivers = from_root_to_partner}};
}

}  // namespace lanewise::measure
