// SPDX-License-Identifier: BSD-3-Clause
//
// The nonblocking collectives, each started and waited for at once: what the
// operation costs when nothing is done meanwhile.

#include "measure/harness/operation.hpp"

namespace lanewise::measure {
namespace {

int mine(const Exchange& e) {
    return e.counts[static_cast<std::size_t>(e.rank)];
}

int start_scatter(Exchange& e, MPI_Request *request) {
    return MPI_Iscatter(e.send, e.count, e.type, e.receive, e.count, e.type, e.root, e.comm,
                        request);
}

int start_scatterv(Exchange& e, MPI_Request *request) {
    return MPI_Iscatterv(e.send, e.counts.data(), e.displacements.data(), e.type, e.receive,
                         mine(e), e.type, e.root, e.comm, request);
}

int start_gather(Exchange& e, MPI_Request *request) {
    return MPI_Igather(e.send, e.count, e.type, e.receive, e.count, e.type, e.root, e.comm,
                       request);
}

int start_gatherv(Exchange& e, MPI_Request *request) {
    return MPI_Igatherv(e.send, mine(e), e.type, e.receive, e.counts.data(), e.displacements.data(),
                        e.type, e.root, e.comm, request);
}

int start_bcast(Exchange& e, MPI_Request *request) {
    return MPI_Ibcast(e.send, e.count, e.type, e.root, e.comm, request);
}

int start_reduce(Exchange& e, MPI_Request *request) {
    return MPI_Ireduce(e.send, e.receive, e.count, e.type, MPI_SUM, e.root, e.comm, request);
}

int start_allreduce(Exchange& e, MPI_Request *request) {
    return MPI_Iallreduce(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, request);
}

int start_allgather(Exchange& e, MPI_Request *request) {
    return MPI_Iallgather(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm, request);
}

int start_allgatherv(Exchange& e, MPI_Request *request) {
    return MPI_Iallgatherv(e.send, mine(e), e.type, e.receive, e.counts.data(),
                           e.displacements.data(), e.type, e.comm, request);
}

int start_alltoall(Exchange& e, MPI_Request *request) {
    return MPI_Ialltoall(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm, request);
}

int start_alltoallv(Exchange& e, MPI_Request *request) {
    return MPI_Ialltoallv(e.send, e.own_counts.data(), e.own_displacements.data(), e.type,
                          e.receive, e.counts.data(), e.displacements.data(), e.type, e.comm,
                          request);
}

int start_alltoallw(Exchange& e, MPI_Request *request) {
    return MPI_Ialltoallw(e.send, e.own_counts.data(), e.own_displacements_bytes.data(),
                          e.types.data(), e.receive, e.counts.data(), e.displacements_bytes.data(),
                          e.types.data(), e.comm, request);
}

int start_reduce_scatter(Exchange& e, MPI_Request *request) {
    return MPI_Ireduce_scatter(e.send, e.receive, e.counts.data(), e.type, MPI_SUM, e.comm,
                               request);
}

int start_reduce_scatter_block(Exchange& e, MPI_Request *request) {
    return MPI_Ireduce_scatter_block(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, request);
}

int start_scan(Exchange& e, MPI_Request *request) {
    return MPI_Iscan(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, request);
}

int start_exscan(Exchange& e, MPI_Request *request) {
    return MPI_Iexscan(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, request);
}

int start_barrier(Exchange& e, MPI_Request *request) {
    return MPI_Ibarrier(e.comm, request);
}

int start_and_wait(Exchange& e) {
    MPI_Request request;
    const int code = e.start(e, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

struct Form {
    const char *name;
    const char *blocking;
    Start start;
};

constexpr Form forms[] = {
    {"iscatter", "scatter", start_scatter},
    {"iscatterv", "scatterv", start_scatterv},
    {"igather", "gather", start_gather},
    {"igatherv", "gatherv", start_gatherv},
    {"ibcast", "bcast", start_bcast},
    {"ireduce", "reduce", start_reduce},
    {"iallreduce", "allreduce", start_allreduce},
    {"iallgather", "allgather", start_allgather},
    {"iallgatherv", "allgatherv", start_allgatherv},
    {"ialltoall", "alltoall", start_alltoall},
    {"ialltoallv", "alltoallv", start_alltoallv},
    {"ialltoallw", "alltoallw", start_alltoallw},
    {"ireduce_scatter", "reduce_scatter", start_reduce_scatter},
    {"ireduce_scatter_block", "reduce_scatter_block", start_reduce_scatter_block},
    {"iscan", "scan", start_scan},
    {"iexscan", "exscan", start_exscan},
    {"ibarrier", "barrier", start_barrier},
};

}  // namespace

std::vector<Entry> nonblocking_operations(std::span<const Entry> blocking) {
    std::vector<Entry> entries;
    for (const auto& form : forms) {
        for (const auto& entry : blocking) {
            if (std::string(entry.name) != form.blocking) continue;
            entries.push_back(entry);
            entries.back().name = form.name;
            entries.back().call = start_and_wait;
            entries.back().start = form.start;
            entries.back().own = nullptr;
        }
    }
    return entries;
}

}  // namespace lanewise::measure
