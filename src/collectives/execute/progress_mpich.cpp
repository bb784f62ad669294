// SPDX-License-Identifier: BSD-3-Clause
//
// MPICH: since 4.3 functions given to MPIX_Async_start are called in its progress,
// inside of which progress must not be entered again (MPIX_Request_is_complete
// asks without it). Before, only a generalized request of MPIX_Grequest_start has
// a function called, when it is waited for or tested. The newer functions are
// looked up, because the library may be older than the header.

#include <dlfcn.h>

#include <algorithm>
#include <atomic>

#include "collectives/execute/progress.hpp"

namespace lanewise::collectives {
namespace {

#if MPICH_NUMVERSION >= 40300000
using AsyncStart = decltype(&PMPIX_Async_start);
using IsComplete = decltype(&PMPIX_Request_is_complete);

struct Extensions {
    AsyncStart async_start = nullptr;
    IsComplete is_complete = nullptr;
};

const Extensions& extensions() {
    static const Extensions instance = {
        reinterpret_cast<AsyncStart>(dlsym(RTLD_DEFAULT, "PMPIX_Async_start")),
        reinterpret_cast<IsComplete>(dlsym(RTLD_DEFAULT, "PMPIX_Request_is_complete"))};
    return instance;
}

bool calls_everybody() {
    return extensions().async_start && extensions().is_complete;
}

constinit std::atomic<Poll> registered_poll{nullptr};

int poll_once(MPIX_Async_thing) {
    return registered_poll.load()() ? MPIX_ASYNC_NOPROGRESS : MPIX_ASYNC_DONE;
}

void begin(Poll poll) {
    registered_poll = poll;
    extensions().async_start(poll_once, nullptr, MPIX_STREAM_NULL);
}

bool is_complete(MPI_Request request) {
    return request == MPI_REQUEST_NULL || extensions().is_complete(request) != 0;
}
#else
bool calls_everybody() {
    return false;
}

void begin(Poll) {}

bool is_complete(MPI_Request) {
    return false;
}
#endif

using RequestPoll = int (*)(void *state);
constinit std::atomic<RequestPoll> the_poll{nullptr};

int poll(void *state, MPI_Status *) {
    return the_poll.load()(state);
}

int wait(int count, void **states, double, MPI_Status *) {
    for (int i = 0; i < count; ++i) {
        if (const int code = the_poll.load()(states[i]); code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

}  // namespace

Progress progress_here() {
    return calls_everybody() ? Progress::in_any_call : Progress::when_asked;
}

void start_polling(Poll poll) {
    begin(poll);
}

/* What poll_once returns ends it. */
void stop_polling() {}

int make_request(const RequestFunctions& functions, void *state, MPI_Request *request) {
    if (calls_everybody()) {
        return PMPI_Grequest_start(functions.query, functions.free, functions.cancel, state,
                                   request);
    }
    the_poll = functions.poll;
    return PMPIX_Grequest_start(functions.query, functions.free, functions.cancel, poll, wait,
                                state, request);
}

bool may_nest() {
    return !calls_everybody();
}

bool are_complete(std::span<const MPI_Request> requests) {
    return std::all_of(requests.begin(), requests.end(), is_complete);
}

}  // namespace lanewise::collectives
