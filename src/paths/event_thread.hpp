// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that waits for the events of a device, the descriptor by which it is woken, and how it
// takes an event. Where the system has none left, that is a failure and not an exception.

#pragma once

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/background_thread.hpp"
#include "base/result.hpp"

namespace lanewise::paths {

inline Result<int> open_wake() {
    const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made >= 0) return made;
    return Failure{LW_ERR_LIMIT,
                   fmt::format("no descriptor is left to wake the thread that watches a device: "
                               "{}; allow more open files (ulimit -n)",
                               std::strerror(errno))};
}

// The library reads from the descriptor in the context, where the program may see another one. That
// is away only while there is an event to be read; without another one nothing is written, as the
// program may read the context on its own threads. False where there is no event.
inline bool take_event_from(int descriptor, ibv_context *context,
                            int (*get_async_event)(ibv_context *, ibv_async_event *),
                            ibv_async_event& event) {
    pollfd ready{descriptor, POLLIN, 0};
    if (::poll(&ready, 1, 0) <= 0) return false;
    const std::atomic_ref in_context(context->async_fd);
    const int shown = in_context;
    if (shown == descriptor) return get_async_event(context, &event) == 0;
    in_context = descriptor;
    const int failed = get_async_event(context, &event);
    in_context = shown;
    return failed == 0;
}

template <typename Body>
Outcome start_thread(std::thread& thread, const char *name, Body body) {
    const int error = start_background_thread(thread, name, std::move(body));
    if (error == 0) return Done{};
    return Failure{LW_ERR_LIMIT,
                   fmt::format("no thread can be started to watch a device: {}; allow "
                               "more processes (ulimit -u)",
                               std::strerror(error))};
}

}  // namespace lanewise::paths
