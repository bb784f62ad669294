// SPDX-License-Identifier: BSD-3-Clause
//
// Locks at the end of a process. It may end in a signal handler, in the middle of a call that holds
// a lock and never goes on; who waited for that lock would wait for ever. Another thread that has
// it goes on, if it gets a processor.

#pragma once

#include <chrono>
#include <mutex>
#include <thread>

namespace lanewise::paths {

// Does not own the mutex if that stayed locked for too long.
inline std::unique_lock<std::mutex> lock_at_end(std::mutex& mutex) {
    constexpr int tries_max = 300;
    constexpr auto pause = std::chrono::milliseconds(1);
    std::unique_lock guard(mutex, std::try_to_lock);
    for (int tries = 1; tries < tries_max && !guard; ++tries) {
        std::this_thread::sleep_for(pause);
        static_cast<void>(guard.try_lock());
    }
    return guard;
}

}  // namespace lanewise::paths
