// SPDX-License-Identifier: BSD-3-Clause
//
// Send-receive: all ranks in a ring, each sends to the right and receives from
// the left in one call. A rank moves two messages (IMB's Sendrecv; the
// bidirectional bandwidth of InfiniPath and XD1 2006, Fig. 3, is twice the size by
// the time).
// `sendrecv_replace` does it in one buffer.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

int sendrecv(Exchange& e) {
    constexpr int tag = 3;
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return MPI_Sendrecv(e.send, e.count, e.type, right, tag, e.receive, e.count, e.type, left, tag,
                        e.comm, MPI_STATUS_IGNORE);
}

int sendrecv_replace(Exchange& e) {
    constexpr int tag = 14;
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return MPI_Sendrecv_replace(e.send, e.count, e.type, right, tag, left, tag, e.comm,
                                MPI_STATUS_IGNORE);
}

}  // namespace

Entries sendrecv_benchmarks() {
    return {{.name = "sendrecv",
             .shape = all_ranks(Blocks::one, Blocks::one),
             .call = sendrecv,
             .delivers = from_left},
            {.name = "sendrecv_replace",
             .shape = all_ranks(Blocks::one, Blocks::none),
             .call = sendrecv_replace,
             .delivers = from_left}};
}

}  // namespace lanewise::measure
