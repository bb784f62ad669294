// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that waits for the events of a device, and the descriptor by which it is woken. Where
// the system has none left, that is a failure and not an exception.

#pragma once

#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/result.hpp"

namespace lanewise::paths {

// While one lives, the calling thread takes no signals; a thread that it starts never does.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

inline Result<int> open_wake() {
    const int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made >= 0) return made;
    return Failure{LW_ERR_LIMIT,
                   fmt::format("no descriptor is left to wake the thread that watches a device: "
                               "{}; allow more open files (ulimit -n)",
                               std::strerror(errno))};
}

template <typename Body>
Outcome start_thread(std::thread& thread, const char *name, Body body) {
    const SignalsBlocked blocked;
    try {
        thread = std::thread(std::move(body));
    } catch (const std::system_error& error) {
        return Failure{LW_ERR_LIMIT, fmt::format("no thread can be started to watch a device: {}; "
                                                 "allow more processes (ulimit -u)",
                                                 error.code().message())};
    }
    pthread_setname_np(thread.native_handle(), name);
    return Done{};
}

}  // namespace lanewise::paths
