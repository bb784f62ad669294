// SPDX-License-Identifier: BSD-3-Clause
//
// The helper thread: progress for a program that does not poll.
//
// A program that polls makes progress in its own poll, and a second thread that
// wakes for the same packets would only take its processor away. So the helper
// has two ways to wait:
//
//   aside     while the program polls: it looks up once in a while, on nothing
//             but the clock, the more rarely the longer that goes on;
//   watching  otherwise: it waits for packets, forwarded packets and deadlines, and for room in
//             a socket that was full.
//
// It steps aside after waking for packets a few times in a row while the
// program was polling anyway, and comes back when the program has stopped.

#pragma once

#include <atomic>
#include <thread>

#include "base/descriptor.hpp"
#include "verbs/abi/adapter.hpp"
#include "verbs/abi/polls.hpp"

namespace lanewise::verbs::abi {

class ProgressThread {
  public:
    explicit ProgressThread(Adapter& adapter) : adapter_(adapter) {}
    ~ProgressThread();
    ProgressThread(const ProgressThread&) = delete;
    ProgressThread& operator=(const ProgressThread&) = delete;

    // 0, or an errno where the system has no descriptor or no thread left.
    int start();
    // To be told of every poll of the program.
    Polls& polls() { return polls_; }
    // Whether the program polls all the time, so that what waits is not left alone: it comes back
    // within microseconds, and where it does not, the helper looks after it.
    bool program_polls(Nanoseconds now) const;
    // After work was posted outside of a poll: a deadline may be nearer than the helper thinks, or
    // a socket be full.
    void deadline_changed();
    // After fork, in the child: there is no thread to join.
    void abandon() { thread_.detach(); }

  private:
    void run();
    void watch();
    void stand_aside();
    void make_progress();
    // False where somebody else has the lock; moves `until` where there was something to do.
    bool try_progress(Nanoseconds now, Nanoseconds& until);
    // After waking for what the program itself is about to do.
    void stay_out();
    // When to wake without a packet, and what to wait for to have room.
    void plan(Nanoseconds now);
    // False where the time ran out.
    bool wait(bool for_packets, Nanoseconds longest);
    bool polled_within(Nanoseconds duration) const;

    Adapter& adapter_;
    Descriptor wake_;
    Polls polls_;
    std::atomic<bool> stop_{false};
    std::atomic<Nanoseconds> wakes_at_{0};
    std::atomic<int> waits_for_room_of_{-1};  // the socket that it waits for to have room
    int useless_ = 0;
    bool an_end_is_left_ = false;   // a process has ended and left something to read
    Nanoseconds aside_for_ns_ = 0;  // until it looks again
    std::atomic<bool> aside_{false};
    std::thread thread_;
};

}  // namespace lanewise::verbs::abi
