// SPDX-License-Identifier: BSD-3-Clause
//
// A completion queue: completions in a ring, and whether the program wants to be woken. One that
// overflows tells cq_error once and takes no more, as ibv_create_cq(3) warns.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "verbs/proto/queues/completion.hpp"
#include "verbs/proto/queues/event.hpp"
#include "verbs/proto/queues/ring.hpp"

namespace lanewise::verbs {

enum class Wanted : std::uint8_t { nothing, solicited, any };

class CompletionQueue {
  public:
    CompletionQueue(std::uint32_t capacity, std::deque<Event>& events, void *cookie);

    // Moves up to into.size() completions out and returns how many.
    std::size_t poll(std::span<Completion> into);
    // Asks for one completion event (ibv_req_notify_cq).
    void arm(Wanted wanted);
    // EINVAL where more entries wait than would fit (ibv_resize_cq).
    int resize(std::uint32_t capacity);

    // For queue pairs. False, after telling cq_error, where the ring is full.
    bool push(const Completion& completion);
    // Forgets the entries of a queue pair that is being destroyed.
    void forget(std::uint32_t qpn);

    std::size_t size() const { return ring_.size(); }
    std::uint32_t capacity() const { return capacity_; }
    void *cookie() const { return cookie_; }
    std::uint32_t users = 0;  // queue pairs that complete here

  private:
    Ring<Completion> ring_;
    std::uint32_t capacity_;
    Wanted wanted_ = Wanted::nothing;
    bool overrun_ = false;
    std::deque<Event>& events_;
    void *cookie_;
};

}  // namespace lanewise::verbs
