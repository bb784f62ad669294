// SPDX-License-Identifier: BSD-3-Clause
//
// Persistent: collectives that the program prepares once and starts again and again. They follow
// the rules of the nonblocking ones, and keep the bits of reductions where these shall be the same.
// What is done with all starts is decided when the collective is prepared.
//
// No program can make a persistent request, so it gets one of the MPI that is never started: a send
// to nobody. To wait for it and to test it is what MPI says of an inactive request. When the
// program frees it, it is kept for the next collective that is prepared, where there is
// MPI_COMM_SELF. Each start makes a request of a nonblocking call (execute/request), and whenever
// the program waits for the first one or tests it, the second stands in its place. Of a collective
// that is left to the MPI only the starts are counted, where there is a report.

#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "collectives/choose.hpp"
#include "collectives/execute/call.hpp"
#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/pending_calls.hpp"

namespace lanewise::tuned {

/* How many requests are known here; how many starts the program has not found complete. */
extern constinit std::atomic<int> prepared_requests;
extern constinit std::atomic<int> started_requests;

/* What the report says of each start. */
struct ReportedStart {
    bool is_counted = false;
    collectives::Operation operation = collectives::Collective::barrier;
    std::uint64_t message_bytes = 0;
    const collectives::Rule *rule = nullptr;
};

/* Prepares a collective and returns true, or false on every rank alike: the MPI shall prepare it.
   Collective over its communicator. `code` is an error code of MPI. */
bool prepare_here(const collectives::Call& call, MPI_Request *request, ReportedStart& reported,
                  int& code);

/* The MPI has prepared it: its starts are counted. */
void count_starts(MPI_Request request, const ReportedStart& reported);

/* Starts what `request` was prepared for and returns true; false: the MPI shall start it. */
bool start_here(MPI_Request request, int& code);

/* The program frees the request. A start that has not ended goes on by itself. False: the MPI shall
   free it. */
bool free_here(MPI_Request request);

/* The request of the start that is not known to be complete; null: there is none. */
MPI_Request request_behind(MPI_Request request);
void found_complete(MPI_Request request);

/* A call that prepares a collective; `forward` has the MPI do it, which sets `request`. */
template <typename Forward>
int prepare(const collectives::Call& call, MPI_Request& request, const Forward& forward) {
    int code = MPI_SUCCESS;
    ReportedStart reported;
    if (!prepare_here(call, &request, reported, code)) {
        code = forward();
        if (code == MPI_SUCCESS && reported.is_counted) count_starts(request, reported);
    }
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
    if (prepared_requests.load(std::memory_order_relaxed) == 0 || !handles) {
        return go(count, handles);
    }
    std::vector<typename Requests::Handle> others;
    std::vector<int> places;
    for (int i = 0; i < count; ++i) {
        int code = MPI_SUCCESS;
        if (!start_here(Requests::request(handles[i]), code)) {
            others.push_back(handles[i]);
            places.push_back(i);
        }
        if (code != MPI_SUCCESS) return code;
    }
    if (others.empty() && count > 0) return MPI_SUCCESS;
    const int code = go(count > 0 ? static_cast<int>(others.size()) : count, others.data());
    // An MPI may start another request in place of one that is still under way.
    for (std::size_t k = 0; k < places.size(); ++k) handles[places[k]] = others[k];
    return code;
}

/* While it lives, the requests that were started here among those of a call that waits or tests are
   those behind them. */
template <typename Requests>
class ScopedSubstitution {
  public:
    using Handle = typename Requests::Handle;

    ScopedSubstitution(int count, Handle *handles) {
        if (started_requests.load(std::memory_order_relaxed) == 0 || !handles) return;
        for (int i = 0; i < count; ++i) {
            const auto behind = request_behind(Requests::request(handles[i]));
            if (behind == MPI_REQUEST_NULL) continue;
            replaced_.push_back({handles + i, handles[i]});
            handles[i] = Requests::handle(behind);
        }
    }
    ~ScopedSubstitution() {
        for (const auto& [place, handle] : replaced_) {
            if (Requests::request(*place) == MPI_REQUEST_NULL) {
                found_complete(Requests::request(handle));
            }
            *place = handle;
        }
    }
    ScopedSubstitution(const ScopedSubstitution&) = delete;
    ScopedSubstitution& operator=(const ScopedSubstitution&) = delete;

  private:
    struct Replaced {
        Handle *place;
        Handle handle;
    };

    std::vector<Replaced> replaced_;
};

}  // namespace lanewise::tuned
