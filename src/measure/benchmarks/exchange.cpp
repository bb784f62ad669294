// SPDX-License-Identifier: BSD-3-Clause
//
// Exchange: all ranks in a ring, each sends to both neighbours and receives
// from both, as the halo of a grid does. A rank moves four messages (IMB's
// Exchange; InfiniPath and XD1 2006, Fig. 4). The first block comes from the left.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

int exchange(Exchange& e) {
    constexpr int rightwards = 4;
    constexpr int leftwards = 5;
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    MPI_Request sending[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    return first_failure({
        MPI_Isend(e.send, e.count, e.type, right, rightwards, e.comm, &sending[0]),
        MPI_Isend(e.send, e.count, e.type, left, leftwards, e.comm, &sending[1]),
        MPI_Recv(slot(e.receive, e, 0), e.count, e.type, left, rightwards, e.comm,
                 MPI_STATUS_IGNORE),
        MPI_Recv(slot(e.receive, e, 1), e.count, e.type, right, leftwards, e.comm,
                 MPI_STATUS_IGNORE),
        MPI_Waitall(2, sending, MPI_STATUSES_IGNORE),
    });
}

}  // namespace

Entries exchange_benchmarks() {
    return {{.name = "exchange",
             .shape = all_ranks(Blocks::one, Blocks::two),
             .call = exchange,
             .delivers = from_left_and_right}};
}

}  // namespace lanewise::measure
