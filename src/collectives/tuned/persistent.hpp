// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent: reductions that the program prepares once and starts again and again, where bits
// shall be the same.
//
// No program can make a persistent request, so it gets one of the MPI that is never started: a send
// to nobody. To wait for it and to test it is what MPI says of an inactive request. When the
// program frees it, it is kept for the next reduction that is prepared, where there is
// MPI_COMM_SELF. Each start makes a request of a nonblocking call (execute/request), and whenever
// the program waits for the first one or tests it, the second stands in its place.

#pragma once

#include <mpi.h>

#include <atomic>
#include <vector>

#include "collectives/execute/call.hpp"
#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/pending_calls.hpp"

namespace lanewise::tuned {

/* How many reductions are prepared here; how many starts the program has not found complete. */
extern constinit std::atomic<int> prepared_reductions;
extern constinit std::atomic<int> started_reductions;

/* Prepares a reduction and returns true, or false on every rank alike: the MPI shall prepare it.
   Collective over its communicator. `code` is an error code of MPI. */
bool prepare_reduction(const collectives::Call& call, MPI_Request *request, int& code);

/* Starts what `request` was prepared for and returns true; false: it is not of here. */
bool start_reduction(MPI_Request request, int& code);

/* The program frees the request. A start that has not ended goes on by itself. False: it is not of
   here. */
bool free_reduction(MPI_Request request);

/* The request of the start that is not known to be complete; null: there is none. */
MPI_Request request_behind(MPI_Request request);
void found_complete(MPI_Request request);

/* A call that prepares a collective; `forward` has the MPI do it, which sets `request`. */
template <typename Forward>
int prepare(const collectives::Call& call, MPI_Request& request, const Forward& forward) {
    int code = MPI_SUCCESS;
    if (!prepare_reduction(call, &request, code)) code = forward();
    if (code == MPI_SUCCESS && recording) keep_prepared(call, request);
    return code;
}

/* How requests are given in C and in Fortran. */
struct RequestsOfC {
    using Handle = MPI_Request;
    static MPI_Request request(Handle handle) { return handle; }
    static Handle handle(MPI_Request request) { return request; }
};
struct RequestsOfFortran {
    using Handle = MPI_Fint;
    static MPI_Request request(Handle handle) { return PMPI_Request_f2c(handle); }
    static Handle handle(MPI_Request request) { return PMPI_Request_c2f(request); }
};

/* Starts what is prepared here, and has `go(count, first)` start the other requests. */
template <typename Requests, typename Go>
int start_requests(int count, typename Requests::Handle *handles, const Go& go) {
    if (prepared_reductions.load(std::memory_order_relaxed) == 0 || !handles) {
        return go(count, handles);
    }
    std::vector<typename Requests::Handle> others;
    for (int i = 0; i < count; ++i) {
        int code = MPI_SUCCESS;
        if (!start_reduction(Requests::request(handles[i]), code)) others.push_back(handles[i]);
        if (code != MPI_SUCCESS) return code;
    }
    if (others.empty() && count > 0) return MPI_SUCCESS;
    return go(count > 0 ? static_cast<int>(others.size()) : count, others.data());
}

/* While it lives, the requests of started reductions among those of a call that waits or tests are
   those behind them. */
template <typename Requests>
class InTheirPlace {
  public:
    using Handle = typename Requests::Handle;

    InTheirPlace(int count, Handle *handles) {
        if (started_reductions.load(std::memory_order_relaxed) == 0 || !handles) return;
        for (int i = 0; i < count; ++i) {
            const auto behind = request_behind(Requests::request(handles[i]));
            if (behind == MPI_REQUEST_NULL) continue;
            replaced_.push_back({handles + i, handles[i]});
            handles[i] = Requests::handle(behind);
        }
    }
    ~InTheirPlace() {
        for (const auto& [place, handle] : replaced_) {
            if (Requests::request(*place) == MPI_REQUEST_NULL) {
                found_complete(Requests::request(handle));
            }
            *place = handle;
        }
    }
    InTheirPlace(const InTheirPlace&) = delete;
    InTheirPlace& operator=(const InTheirPlace&) = delete;

  private:
    struct Replaced {
        Handle *place;
        Handle handle;
    };

    std::vector<Replaced> replaced_;
};

}  // namespace lanewise::tuned
