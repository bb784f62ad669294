// SPDX-License-Identifier: BSD-3-Clause
//
// The nonblocking collectives, each started and waited for at once: what the
// operation costs when nothing is done meanwhile.

#include "measure/operation.hpp"

namespace lanewise::measure {
namespace {

int wait(int code, MPI_Request& request) {
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

int mine(const Exchange& e) { return e.counts[static_cast<std::size_t>(e.rank)]; }

int iscatter(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iscatter(e.send, e.count, e.type, e.receive, e.count, e.type, e.root, e.comm,
                             &request), request);
}

int iscatterv(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iscatterv(e.send, e.counts.data(), e.displacements.data(), e.type, e.receive,
                              mine(e), e.type, e.root, e.comm, &request), request);
}

int igather(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Igather(e.send, e.count, e.type, e.receive, e.count, e.type, e.root, e.comm,
                            &request), request);
}

int igatherv(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Igatherv(e.send, mine(e), e.type, e.receive, e.counts.data(),
                             e.displacements.data(), e.type, e.root, e.comm, &request), request);
}

int ibcast(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ibcast(e.send, e.count, e.type, e.root, e.comm, &request), request);
}

int ireduce(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ireduce(e.send, e.receive, e.count, e.type, MPI_SUM, e.root, e.comm, &request),
                request);
}

int iallreduce(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iallreduce(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, &request),
                request);
}

int iallgather(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iallgather(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm,
                               &request), request);
}

int iallgatherv(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iallgatherv(e.send, mine(e), e.type, e.receive, e.counts.data(),
                                e.displacements.data(), e.type, e.comm, &request), request);
}

int ialltoall(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ialltoall(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm,
                              &request), request);
}

int ialltoallv(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ialltoallv(e.send, e.own_counts.data(), e.own_displacements.data(), e.type,
                               e.receive, e.counts.data(), e.displacements.data(), e.type, e.comm,
                               &request), request);
}

int ireduce_scatter(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ireduce_scatter(e.send, e.receive, e.counts.data(), e.type, MPI_SUM, e.comm,
                                    &request), request);
}

int ireduce_scatter_block(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ireduce_scatter_block(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm,
                                          &request), request);
}

int iscan(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iscan(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, &request), request);
}

int iexscan(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Iexscan(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, &request),
                request);
}

int ibarrier(Exchange& e) {
    MPI_Request request;
    return wait(MPI_Ibarrier(e.comm, &request), request);
}

struct Form {
    const char *name;
    const char *blocking;
    int (*call)(Exchange&);
};

constexpr Form forms[] = {
    {"iscatter", "scatter", iscatter},
    {"iscatterv", "scatterv", iscatterv},
    {"igather", "gather", igather},
    {"igatherv", "gatherv", igatherv},
    {"ibcast", "bcast", ibcast},
    {"ireduce", "reduce", ireduce},
    {"iallreduce", "allreduce", iallreduce},
    {"iallgather", "allgather", iallgather},
    {"iallgatherv", "allgatherv", iallgatherv},
    {"ialltoall", "alltoall", ialltoall},
    {"ialltoallv", "alltoallv", ialltoallv},
    {"ireduce_scatter", "reduce_scatter", ireduce_scatter},
    {"ireduce_scatter_block", "reduce_scatter_block", ireduce_scatter_block},
    {"iscan", "scan", iscan},
    {"iexscan", "exscan", iexscan},
    {"ibarrier", "barrier", ibarrier},
};

}  // namespace

std::vector<Entry> nonblocking_operations(std::span<const Entry> blocking) {
    std::vector<Entry> entries;
    for (const auto& form : forms) {
        for (const auto& entry : blocking) {
            if (std::string(entry.name) != form.blocking) continue;
            entries.push_back(entry);
            entries.back().name = form.name;
            entries.back().call = form.call;
            entries.back().own = nullptr;
        }
    }
    return entries;
}

}  // namespace lanewise::measure
