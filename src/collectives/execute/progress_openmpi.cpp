// SPDX-License-Identifier: BSD-3-Clause
//
// Open MPI: its own nonblocking collectives (coll/libnbc) go on in functions that
// it calls from opal_progress, which every call that waits or tests runs. The two
// functions that add to them and take away are exported by libopen-pal since
// Open MPI 1.0 (opal/runtime/opal_progress.h); they are looked up, not linked.

#include <dlfcn.h>

#include <atomic>

#include "collectives/execute/progress.hpp"

namespace lanewise::collectives {
namespace {

using Callback = int (*)();
using Change = int (*)(Callback);

struct Hooks {
    Change add = nullptr;
    Change take_away = nullptr;
};

const Hooks& hooks() {
    static const Hooks instance = {
        reinterpret_cast<Change>(dlsym(RTLD_DEFAULT, "opal_progress_register")),
        reinterpret_cast<Change>(dlsym(RTLD_DEFAULT, "opal_progress_unregister"))};
    return instance;
}

constinit std::atomic<Poll> registered_poll{nullptr};

/* Returns how much was done; a thread that finds nothing anywhere may give way. */
int poll_once() {
    registered_poll.load()();
    return 0;
}

}  // namespace

Progress progress_here() {
    return hooks().add && hooks().take_away ? Progress::in_any_call : Progress::never;
}

void start_polling(Poll poll) {
    registered_poll = poll;
    hooks().add(poll_once);
}

void stop_polling() {
    hooks().take_away(poll_once);
}

int make_request(const RequestFunctions& functions, void *state, MPI_Request *request) {
    return PMPI_Grequest_start(functions.query, functions.free, functions.cancel, state, request);
}

bool may_nest() {
    return true;
}

bool are_complete(std::span<const MPI_Request>) {
    return false;
}

}  // namespace lanewise::collectives
