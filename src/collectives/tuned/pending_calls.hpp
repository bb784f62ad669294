// SPDX-License-Identifier: BSD-3-Clause
//
// PendingCalls: recorded collectives that do not block, by their requests, from their start until a
// call of the program finds them complete; what is noted of them then goes to the log of calls and
// to the results. What waits for requests or tests them is watched only while there are such calls.

#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "collectives/tuned/call_log.hpp"

namespace lanewise::tuned {

/* How many requests are known. */
extern constinit std::atomic<int> known_requests;

void keep_started(const collectives::Call& call, const void *site, MPI_Request request,
                  std::int64_t entry_ns, std::int64_t exit_ns);
void keep_prepared(const collectives::Call& call, MPI_Request request);

/* Those of the requests that are persistent collectives begin. */
void begin_persistent(const std::vector<MPI_Request>& requests, const void *site,
                      std::int64_t entry_ns, std::int64_t exit_ns);
void forget_request(MPI_Request request);

/* Nothing is recorded any more: calls that are still pending never ended. */
void drop_pending();

/* Records the nonblocking call that `go` makes, which sets `request`. */
template <typename Go>
int recorded_start(const collectives::Call& call, const void *site, const Go& go,
                   const std::function<MPI_Request()>& request) {
    if (inside_recorded) return go();
    const InsideRecorded here;
    const auto entry_ns = monotonic_ns();
    const int code = go();
    if (code == MPI_SUCCESS) {
        keep_started(call, outer_site ? outer_site : site, request(), entry_ns, monotonic_ns());
    }
    return code;
}

/* One call of the program that waits for requests or tests them; made before it, because the call
   changes the handles. */
class CompletionCall {
  public:
    /* `request_at` gives the handle at an index. */
    template <typename RequestAt>
    CompletionCall(int count, const RequestAt& request_at) {
        if (!recording || inside_recorded || known_requests.load(std::memory_order_relaxed) == 0) {
            return;
        }
        entry_ns_ = monotonic_ns();
        inside_recorded = true;
        handles_.reserve(static_cast<std::size_t>(count > 0 ? count : 0));
        for (int i = 0; i < count; ++i) handles_.push_back(request_at(i));
    }
    ~CompletionCall() {
        if (entry_ns_ == 0) return;
        end();
        inside_recorded = false;
    }
    CompletionCall(const CompletionCall&) = delete;
    CompletionCall& operator=(const CompletionCall&) = delete;

    /* To be told of what the call found complete. */
    void all_done() { all_done_ = true; }
    void done(int index) {
        if (entry_ns_ != 0 && index >= 0) done_.push_back(index);
    }

    void some_done(int count, const int *indices, int first_index = 0) {
        for (int i = 0; i < count; ++i) done(indices[i] - first_index);
    }

  private:
    void end();

    std::int64_t entry_ns_ = 0; /* 0: nothing is watched */
    bool all_done_ = false;
    std::vector<MPI_Request> handles_;
    std::vector<int> done_;
};

}  // namespace lanewise::tuned
