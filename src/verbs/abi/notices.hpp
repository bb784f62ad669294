// SPDX-License-Identifier: BSD-3-Clause
//
// Notices for a program: a queue, and a descriptor that is readable while the
// queue is not empty, which the program may poll and make non-blocking.

#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <mutex>
#include <optional>

#include "base/descriptor.hpp"

namespace lanewise::verbs::abi {

template <typename Notice>
class Notices {
  public:
    Notices() : count_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)), error_(count_ ? 0 : errno) {}

    // Why there is no descriptor, without which they are of no use: an errno; else 0.
    int error() const { return error_; }
    int descriptor() const { return count_.number(); }

    void add(const Notice& notice) {
        const std::lock_guard guard(lock_);
        waiting_.push_back(notice);
        eventfd_write(count_.number(), 1);
    }

    // Waits for one, unless the descriptor is non-blocking; none with errno set. `count` is called
    // for what is taken: who has called forget_if() afterwards finds it counted.
    template <typename Count>
    std::optional<Notice> take(const Count& count) {
        const Taker here(takers_);
        for (;;) {
            eventfd_t unused = 0;
            if (eventfd_read(count_.number(), &unused) != 0) return std::nullopt;
            const std::lock_guard guard(lock_);
            if (surplus_ > 0) {
                --surplus_;
                continue;
            }
            const Notice notice = waiting_.front();
            waiting_.pop_front();
            count(notice);
            return notice;
        }
    }

    // Whether a thread is in take(), to which these must stay what they are: what it has read of
    // the descriptor may be forgotten before it comes to look.
    bool is_waited_for() const { return takers_ > 0; }

    // Forgets those that nobody has taken.
    template <typename Condition>
    void forget_if(const Condition& condition) {
        const std::lock_guard guard(lock_);
        for (std::size_t gone = std::erase_if(waiting_, condition); gone > 0; --gone) lower();
    }

  private:
    class Taker {
      public:
        explicit Taker(std::atomic<int>& takers) : takers_(takers) { ++takers_; }
        ~Taker() { --takers_; }
        Taker(const Taker&) = delete;
        Taker& operator=(const Taker&) = delete;

      private:
        std::atomic<int>& takers_;
    };

    // Takes one from the descriptor. Somebody in take() may have it already: to wait for it here
    // would be to wait for ever, so that one is told that it is of no use.
    void lower() {
        if (!reads_at_once()) ++surplus_;
    }
    bool reads_at_once() const {
        eventfd_t unused = 0;
        const iovec place{&unused, sizeof unused};
        if (preadv2(count_.number(), &place, 1, -1, RWF_NOWAIT) > 0) return true;
        if (errno != EOPNOTSUPP) return false;
        // Linux before 5.8 knows no read of such a descriptor that never waits.
        pollfd ready{count_.number(), POLLIN, 0};
        return poll(&ready, 1, 0) > 0 && eventfd_read(count_.number(), &unused) == 0;
    }

    Descriptor count_;
    int error_;
    std::mutex lock_;
    std::deque<Notice> waiting_;
    std::size_t surplus_ = 0;  // read from the descriptor for what was forgotten meanwhile
    std::atomic<int> takers_ = 0;
};

// Waits until the program has acknowledged every notice it took, as destroying an object does.
inline void wait_for(pthread_mutex_t& mutex, pthread_cond_t& condition,
                     const std::uint32_t& acknowledged, std::uint32_t taken) {
    pthread_mutex_lock(&mutex);
    while (acknowledged != taken) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

}  // namespace lanewise::verbs::abi
