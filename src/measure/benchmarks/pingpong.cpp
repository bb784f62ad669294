// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-pong between the root and the rank after it; every other rank waits.
// Reported is half the round trip, the convention of NetPIPE, IMB and OSU
// (InfiniPath and XD1 2006, Figs. 1 and 2). `pingpong_any_source` receives from
// MPI_ANY_SOURCE. In `pairs_pingpong` rank i of the first half plays with rank
// i + n/2, all pairs at once (OSU's multi_lat).

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 1;

template <Source source>
int begin_with(Exchange& e, int peer) {
    const int code = MPI_Send(e.send, e.count, e.type, peer, tag, e.comm);
    if (code != MPI_SUCCESS) return code;
    return MPI_Recv(e.receive, e.count, e.type, from<source>(peer), tag, e.comm, MPI_STATUS_IGNORE);
}

template <Source source>
int return_to(Exchange& e, int peer) {
    const int code =
        MPI_Recv(e.receive, e.count, e.type, from<source>(peer), tag, e.comm, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return code;
    return MPI_Send(e.send, e.count, e.type, peer, tag, e.comm);
}

template <Source source>
int pingpong(Exchange& e) {
    if (e.rank == e.root) return begin_with<source>(e, partner(e));
    return e.rank == partner(e) ? return_to<source>(e, e.root) : MPI_SUCCESS;
}

int pairs_pingpong(Exchange& e) {
    const int pairs = e.size / 2;
    if (e.rank < pairs) return begin_with<Source::named>(e, e.rank + pairs);
    return e.rank < 2 * pairs ? return_to<Source::named>(e, e.rank - pairs) : MPI_SUCCESS;
}

Origins from_its_pair(const Standpoint& s) {
    const int pairs = s.size / 2;
    if (s.me >= 2 * pairs) return {};
    return {{{s.me < pairs ? s.me + pairs : s.me - pairs}}};
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
             .delivers = from_each_to_its_partner},
            {.name = "pairs_pingpong",
             .shape = shape,
             .call = pairs_pingpong,
             .ranks_min = 2,
             .scale = 0.5,
             .delivers = from_its_pair}};
}

}  // namespace lanewise::measure
