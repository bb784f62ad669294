// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent operations: set up once, started again and again. Point-to-point
// as the ring of `sendrecv`, as `pingpong` and as the windows of `streaming` and
// `bidirectional`; the collectives where the MPI has them.

#include <map>
#include <string>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 9;
constexpr int reply_tag = 20;

struct Persistent {
    std::vector<MPI_Request> requests;

    explicit Persistent(int count) : requests(static_cast<std::size_t>(count), MPI_REQUEST_NULL) {}
    ~Persistent() {
        for (auto& request : requests) {
            if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
        }
    }
    Persistent(const Persistent&) = delete;
    Persistent& operator=(const Persistent&) = delete;
};

std::vector<MPI_Request>& make_requests(Exchange& e, int count) {
    e.state = std::make_shared<Persistent>(count);
    return state_of<Persistent>(e).requests;
}

int start_and_wait(Exchange& e) {
    auto& requests = state_of<Persistent>(e).requests;
    const auto count = static_cast<int>(requests.size());
    if (count == 0) return MPI_SUCCESS; /* Open MPI refuses to start nothing */
    return first_failure({MPI_Startall(count, requests.data()),
                          MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE)});
}

int make_ring(Exchange& e) {
    auto& requests = make_requests(e, 2);
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return first_failure(
        {MPI_Recv_init(e.receive, e.count, e.type, left, tag, e.comm, &requests[0]),
         MPI_Send_init(e.send, e.count, e.type, right, tag, e.comm, &requests[1])});
}

// As `pingpong`: the send, then the receive.
int make_round_trip(Exchange& e) {
    const bool takes_part = e.rank == e.root || e.rank == partner(e);
    auto& requests = make_requests(e, takes_part ? 2 : 0);
    if (!takes_part) return MPI_SUCCESS;
    const int peer = e.rank == e.root ? partner(e) : e.root;
    return first_failure(
        {MPI_Send_init(e.send, e.count, e.type, peer, tag, e.comm, &requests[0]),
         MPI_Recv_init(e.receive, e.count, e.type, peer, tag, e.comm, &requests[1])});
}

int start_then_wait(MPI_Request *request) {
    const int code = MPI_Start(request);
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

int round_trip(Exchange& e) {
    auto& requests = state_of<Persistent>(e).requests;
    if (requests.empty()) return MPI_SUCCESS;
    const std::size_t first = e.rank == e.root ? 0 : 1;
    const int code = start_then_wait(&requests[first]);
    return code == MPI_SUCCESS ? start_then_wait(&requests[1 - first]) : code;
}

int init_receives(Exchange& e, int peer, MPI_Request *requests) {
    for (int i = 0; i < e.window; ++i) {
        const int code = MPI_Recv_init(arrival(e, static_cast<std::size_t>(i)), e.count, e.type,
                                       peer, tag, e.comm, requests + i);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int init_sends(Exchange& e, int peer, MPI_Request *requests) {
    for (int i = 0; i < e.window; ++i) {
        const int code = MPI_Send_init(e.send, e.count, e.type, peer, tag, e.comm, requests + i);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

// As `streaming`: a window one way and one answer.
int make_stream(Exchange& e) {
    const bool takes_part = e.rank == e.root || e.rank == partner(e);
    auto& requests = make_requests(e, takes_part ? e.window : 0);
    if (e.rank == e.root) return init_sends(e, partner(e), requests.data());
    return takes_part ? init_receives(e, e.root, requests.data()) : MPI_SUCCESS;
}

int stream(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    const int code = start_and_wait(e);
    if (code != MPI_SUCCESS) return code;
    if (e.rank == e.root) return hear(e, partner(e), reply_tag);
    return answer(e, e.root, reply_tag);
}

int make_both_ways(Exchange& e) {
    const bool takes_part = e.rank == e.root || e.rank == partner(e);
    auto& requests = make_requests(e, takes_part ? 2 * e.window : 0);
    if (!takes_part) return MPI_SUCCESS;
    const int peer = e.rank == e.root ? partner(e) : e.root;
    return first_failure(
        {init_receives(e, peer, requests.data()), init_sends(e, peer, requests.data() + e.window)});
}

#ifdef LANEWISE_HAS_PERSISTENT
constexpr const char *lacks = nullptr;
using Init = int (*)(Exchange&, MPI_Request *);

int mine(const Exchange& e) {
    return e.counts[static_cast<std::size_t>(e.rank)];
}

int scatter(Exchange& e, MPI_Request *request) {
    return MPI_Scatter_init(e.send, e.count, e.type, e.receive, e.count, e.type, e.root, e.comm,
                            MPI_INFO_NULL, request);
}

int scatterv(Exchange& e, MPI_Request *request) {
    return MPI_Scatterv_init(e.send, e.counts.data(), e.displacements.data(), e.type, e.receive,
                             mine(e), e.type, e.root, e.comm, MPI_INFO_NULL, request);
}

int gather(Exchange& e, MPI_Request *request) {
    return MPI_Gather_init(e.send, e.count, e.type, e.receive, e.count, e.type, e.root, e.comm,
                           MPI_INFO_NULL, request);
}

int gatherv(Exchange& e, MPI_Request *request) {
    return MPI_Gatherv_init(e.send, mine(e), e.type, e.receive, e.counts.data(),
                            e.displacements.data(), e.type, e.root, e.comm, MPI_INFO_NULL, request);
}

int bcast(Exchange& e, MPI_Request *request) {
    return MPI_Bcast_init(e.send, e.count, e.type, e.root, e.comm, MPI_INFO_NULL, request);
}

int reduce(Exchange& e, MPI_Request *request) {
    return MPI_Reduce_init(e.send, e.receive, e.count, e.type, MPI_SUM, e.root, e.comm,
                           MPI_INFO_NULL, request);
}

int allreduce(Exchange& e, MPI_Request *request) {
    return MPI_Allreduce_init(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, MPI_INFO_NULL,
                              request);
}

int allgather(Exchange& e, MPI_Request *request) {
    return MPI_Allgather_init(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm,
                              MPI_INFO_NULL, request);
}

int allgatherv(Exchange& e, MPI_Request *request) {
    return MPI_Allgatherv_init(e.send, mine(e), e.type, e.receive, e.counts.data(),
                               e.displacements.data(), e.type, e.comm, MPI_INFO_NULL, request);
}

int alltoall(Exchange& e, MPI_Request *request) {
    return MPI_Alltoall_init(e.send, e.count, e.type, e.receive, e.count, e.type, e.comm,
                             MPI_INFO_NULL, request);
}

int alltoallv(Exchange& e, MPI_Request *request) {
    return MPI_Alltoallv_init(e.send, e.own_counts.data(), e.own_displacements.data(), e.type,
                              e.receive, e.counts.data(), e.displacements.data(), e.type, e.comm,
                              MPI_INFO_NULL, request);
}

int alltoallw(Exchange& e, MPI_Request *request) {
    return MPI_Alltoallw_init(e.send, e.own_counts.data(), e.own_displacements_bytes.data(),
                              e.types.data(), e.receive, e.counts.data(),
                              e.displacements_bytes.data(), e.types.data(), e.comm, MPI_INFO_NULL,
                              request);
}

int reduce_scatter(Exchange& e, MPI_Request *request) {
    return MPI_Reduce_scatter_init(e.send, e.receive, e.counts.data(), e.type, MPI_SUM, e.comm,
                                   MPI_INFO_NULL, request);
}

int reduce_scatter_block(Exchange& e, MPI_Request *request) {
    return MPI_Reduce_scatter_block_init(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm,
                                         MPI_INFO_NULL, request);
}

int scan(Exchange& e, MPI_Request *request) {
    return MPI_Scan_init(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, MPI_INFO_NULL,
                         request);
}

int exscan(Exchange& e, MPI_Request *request) {
    return MPI_Exscan_init(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm, MPI_INFO_NULL,
                           request);
}

int barrier(Exchange& e, MPI_Request *request) {
    return MPI_Barrier_init(e.comm, MPI_INFO_NULL, request);
}

template <Init init>
int make(Exchange& e) {
    return init(e, make_requests(e, 1).data());
}

int (*prepare_of(const std::string& blocking))(Exchange&) {
    static const std::map<std::string, int (*)(Exchange&)> known = {
        {"scatter", make<scatter>},
        {"scatterv", make<scatterv>},
        {"gather", make<gather>},
        {"gatherv", make<gatherv>},
        {"bcast", make<bcast>},
        {"reduce", make<reduce>},
        {"allreduce", make<allreduce>},
        {"allgather", make<allgather>},
        {"allgatherv", make<allgatherv>},
        {"alltoall", make<alltoall>},
        {"alltoallv", make<alltoallv>},
        {"alltoallw", make<alltoallw>},
        {"reduce_scatter", make<reduce_scatter>},
        {"reduce_scatter_block", make<reduce_scatter_block>},
        {"scan", make<scan>},
        {"exscan", make<exscan>},
        {"barrier", make<barrier>},
    };
    return known.at(blocking);
}
#else
constexpr const char *lacks = "MPI 4";

int (*prepare_of(const std::string&))(Exchange&) {
    return nullptr;
}
#endif

// With MPICH 4.0.2 and 4.2.0 a gather hands on what was there when it was made, and with 4.0.2
// scatters that follow one another on three ranks abort; 12 lines of C show it.
const char *lacks_of([[maybe_unused]] const std::string& blocking) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40300000
    if (blocking == "gather")
        return "a persistent gather that works, unlike that of MPICH up to 4.2";
#endif
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    if (blocking == "scatter") return "a persistent scatter that works, unlike that of MPICH 4.0";
#endif
    return lacks;
}

Entries collectives() {
    Entries entries;
    for (const auto& blocking : blocking_operations()) {
        entries.push_back(derived("persistent_", blocking));
        entries.back().call = start_and_wait;
        entries.back().prepare = prepare_of(blocking.name);
        entries.back().lacks = lacks_of(blocking.name);
    }
    return entries;
}

}  // namespace

Entries persistent_benchmarks() {
    constexpr auto one = Blocks::one;
    const auto messages = [](const Exchange& e) { return e.window; };
    Entries entries = {
        {.name = "persistent_sendrecv",
         .shape = all_ranks(one, one),
         .call = start_and_wait,
         .prepare = make_ring,
         .delivers = from_left},
        {.name = "persistent_pingpong",
         .shape = all_ranks(one, one),
         .call = round_trip,
         .ranks_min = 2,
         .scale = 0.5,
         .prepare = make_round_trip,
         .delivers = from_each_to_its_partner},
        {.name = "persistent_streaming",
         .shape = all_ranks(one, Blocks::window),
         .call = stream,
         .ranks_min = 2,
         .prepare = make_stream,
         .messages = messages,
         .delivers = window_to_partner},
        {.name = "persistent_bidirectional",
         .shape = all_ranks(one, Blocks::window),
         .call = start_and_wait,
         .ranks_min = 2,
         .prepare = make_both_ways,
         .messages = messages,
         .delivers = window_to_each_partner},
    };
    const auto all = collectives();
    entries.insert(entries.end(), all.begin(), all.end());
    return entries;
}

}  // namespace lanewise::measure
