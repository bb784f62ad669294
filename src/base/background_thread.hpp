// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of a library inside a program: they take no signals, which are for the program's own
// threads, but for those of their own faults, whose handlers may say where they are; and where the
// system has no thread left, that is an errno and not an exception.

#pragma once

#include <pthread.h>

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace lanewise {

/* Starts `body` as a thread called so, in at most 15 letters; 0, or why there is none. */
template <typename Body>
int start_background_thread(std::thread& thread, const char *name, Body body) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
        sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
        thread = std::thread(std::move(body));
        pthread_setname_np(thread.native_handle(), name);
    } catch (const std::system_error& failed) {
        error = failed.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

/* Why no thread could be started, as one line with a remedy. */
inline std::string no_thread_sentence(int error) {
    return "cannot start a thread: " + std::generic_category().message(error) +
           "; raise the limit of processes (ulimit -u)";
}

}  // namespace lanewise
