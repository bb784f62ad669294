// SPDX-License-Identifier: BSD-3-Clause
//
// Ping-ping: the root and the rank after it send at once, so that each message
// meets one that comes the other way. The time of one (IMB's PingPing).

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

template <Source source>
int pingping(Exchange& e) {
    constexpr int tag = 2;
    const int peer = e.rank == e.root ? partner(e) : e.root;
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    MPI_Request sending = MPI_REQUEST_NULL;
    int code = MPI_Isend(e.send, e.count, e.type, peer, tag, e.comm, &sending);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Recv(e.receive, e.count, e.type, from<source>(peer), tag, e.comm, MPI_STATUS_IGNORE);
    return first_failure({code, MPI_Wait(&sending, MPI_STATUS_IGNORE)});
}

}  // namespace

Entries pingping_benchmarks() {
    constexpr auto shape = all_ranks(Blocks::one, Blocks::one);
    return {{.name = "pingping",
             .shape = shape,
             .call = pingping<Source::named>,
             .ranks_min = 2,
             .delivers = from_each_to_its_partner},
            {.name = "pingping_any_source",
             .shape = shape,
             .call = pingping<Source::any>,
             .ranks_min = 2,
             .delivers = from_each_to_its_partner}};
}

}  // namespace lanewise::measure
