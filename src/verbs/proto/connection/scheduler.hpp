// SPDX-License-Identifier: BSD-3-Clause
//
// Which queue pair is next: a queue of those that may have something to send, and a heap of
// deadlines. Every acknowledgement moves a deadline back, so moving one back costs nothing until
// the old one comes up in the heap.

#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

class QueuePair;

// What the scheduler knows of one queue pair, which owns it.
struct ScheduleSlot {
    QueuePair *queue_pair = nullptr;
    bool ready = false;              // is in the queue of those that may send
    bool delays_ack = false;         // has an acknowledgement that waits
    Nanoseconds deadline = never;    // when it wants to be called
    Nanoseconds in_heap_at = never;  // the earliest of its entries in the heap
};

class Scheduler {
  public:
    void add_ready(ScheduleSlot& slot);
    // The next that may send, taken out of the queue; null if there is none.
    QueuePair *take_ready();

    // Whether nobody may send, and nobody has a delayed acknowledgement.
    bool idle() const { return ready_.empty() && delayed_acks_.empty(); }

    // It has a delayed acknowledgement.
    void add_delayed_ack(ScheduleSlot& slot);
    // One of those, taken out; null if there is none.
    QueuePair *take_delayed_ack();

    void set_deadline(ScheduleSlot& slot, Nanoseconds deadline);
    Nanoseconds next_deadline();
    // The next whose deadline is not after `now`. Its deadline is cleared; null if there is none.
    QueuePair *take_due(Nanoseconds now);

    void forget(const ScheduleSlot& slot);

  private:
    struct Entry {
        Nanoseconds at = never;
        ScheduleSlot *slot = nullptr;
    };
    void drop_stale();

    std::deque<ScheduleSlot *> ready_;
    std::vector<ScheduleSlot *> delayed_acks_;
    std::vector<Entry> heap_;
};

}  // namespace lanewise::verbs
