// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the program polls, for the helper thread, which leaves to it what it is about to do. A
// poll counts from before it takes the lock of the adapter until it ends, however long that takes:
// one that moves much lasts longer than the pause between two, and one that waits for the lock
// would wait as long as packets come if the helper, which has it, took no notice.

#pragma once

#include <atomic>

#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs::abi {

class Polls {
  public:
    // Cheap, for every poll; several threads may poll.
    void begin() { going_on_.fetch_add(1, std::memory_order_relaxed); }
    void end(Nanoseconds now) {
        ended_at_.store(now, std::memory_order_relaxed);
        going_on_.fetch_sub(1, std::memory_order_release);
    }
    // Of a poll that neither waited for the lock nor did anything.
    void was_short(Nanoseconds now) { ended_at_.store(now, std::memory_order_relaxed); }

    bool ended_within(Nanoseconds duration, Nanoseconds now) const {
        return now - ended_at_.load(std::memory_order_relaxed) < duration;
    }
    // Whether one goes on, or ended within the duration.
    bool within(Nanoseconds duration, Nanoseconds now) const {
        return going_on_.load(std::memory_order_acquire) > 0 || ended_within(duration, now);
    }

  private:
    std::atomic<int> going_on_{0};
    std::atomic<Nanoseconds> ended_at_{0};
};

}  // namespace lanewise::verbs::abi
