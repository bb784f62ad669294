// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-pong between the root and the rank after it; every other rank waits.
// Reported is half the round trip, the convention of NetPIPE, IMB and OSU
// (InfiniPath and XD1 2006, Figs. 1 and 2). `pingpong_any_source` receives from
// MPI_ANY_SOURCE.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

template <Source source>
int pingpong(Exchange& e) {
    constexpr int tag = 1;
    const int peer = partner(e);
    if (e.rank == e.root) {
        const int code = MPI_Send(e.send, e.count, e.type, peer, tag, e.comm);
        if (code != MPI_SUCCESS) return code;
        return MPI_Recv(e.receive, e.count, e.type, from<source>(peer), tag, e.comm,
                        MPI_STATUS_IGNORE);
    }
    if (e.rank != peer) return MPI_SUCCESS;
    const int code =
        MPI_Recv(e.receive, e.count, e.type, from<source>(e.root), tag, e.comm, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    return MPI_Send(e.send, e.count, e.type, e.root, tag, e.comm);
}

}  // namespace

Entries pingpong_benchmarks() {
    constexpr auto shape = all_ranks(Blocks::one, Blocks::one);
    return {{.name = "pingpong",
             .shape = shape,
             .call = pingpong<Source::named>,
             .ranks_min = 2,
             .scale = 0.5,
             .delivers = from_each_to_its_partner},
            {.name = "pingpong_any_source",
             .shape = shape,
             .call = pingpong<Source::any>,
             .ranks_min = 2,
             .scale = 0.5,
             .delivers = from_each_to_its_partner}};
}

}  // namespace lanewise::measure
