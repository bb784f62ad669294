// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent operations: set up once, started again and again. Point-to-point
// as the ring of `sendrecv`; collectives where the MPI is of version 4.

#include "measure/kernels/kernels.hpp"

namespace lanewise::measure {
namespace {

struct Persistent {
    std::vector<MPI_Request> requests;

    ~Persistent() {
        for (auto& request : requests) {
            if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
        }
    }
};

int start_and_wait(Exchange& e) {
    auto& requests = state_of<Persistent>(e).requests;
    const auto count = static_cast<int>(requests.size());
    return first_failure({MPI_Startall(count, requests.data()),
                          MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE)});
}

int make_ring(Exchange& e) {
    constexpr int tag = 9;
    auto state = std::make_shared<Persistent>();
    state->requests.assign(2, MPI_REQUEST_NULL);
    e.state = state;
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return first_failure({MPI_Recv_init(e.receive, e.count, e.type, left, tag, e.comm,
                                        &state->requests[0]),
                          MPI_Send_init(e.send, e.count, e.type, right, tag, e.comm,
                                        &state->requests[1])});
}

#if MPI_VERSION >= 4
constexpr const char *lacks = nullptr;

template <typename Init>
int make_one(Exchange& e, Init&& init) {
    auto state = std::make_shared<Persistent>();
    state->requests.assign(1, MPI_REQUEST_NULL);
    e.state = state;
    return init(&state->requests[0]);
}

int make_bcast(Exchange& e) {
    return make_one(e, [&e](MPI_Request *request) {
        return MPI_Bcast_init(e.send, e.count, e.type, e.root, e.comm, MPI_INFO_NULL, request);
    });
}

int make_allreduce(Exchange& e) {
    return make_one(e, [&e](MPI_Request *request) {
        return MPI_Allreduce_init(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm,
                                  MPI_INFO_NULL, request);
    });
}

int make_alltoall(Exchange& e) {
    return make_one(e, [&e](MPI_Request *request) {
        return MPI_Alltoall_init(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm,
                                 MPI_INFO_NULL, request);
    });
}
#else
constexpr const char *lacks = "MPI 4";
constexpr int (*make_bcast)(Exchange&) = nullptr;
constexpr int (*make_allreduce)(Exchange&) = nullptr;
constexpr int (*make_alltoall)(Exchange&) = nullptr;
#endif

}  // namespace

Entries persistent_kernels() {
    constexpr auto one = Blocks::one;
    constexpr auto each = Blocks::each_rank;
    return {
        {.name = "persistent_sendrecv", .shape = all_ranks(one, one), .call = start_and_wait,
         .prepare = make_ring},
        {.name = "persistent_bcast", .shape = all_ranks(one, Blocks::none),
         .call = start_and_wait, .prepare = make_bcast, .lacks = lacks},
        {.name = "persistent_allreduce", .shape = all_ranks(one, one), .element = Element::real,
         .call = start_and_wait, .prepare = make_allreduce, .lacks = lacks},
        {.name = "persistent_alltoall", .shape = all_ranks(each, each), .call = start_and_wait,
         .prepare = make_alltoall, .lacks = lacks},
    };
}

}  // namespace lanewise::measure
