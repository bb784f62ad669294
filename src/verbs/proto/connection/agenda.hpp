// SPDX-License-Identifier: BSD-3-Clause
//
// Who is next: the queue pairs that may have something to send, in turn, and those that wait for a
// moment. A deadline that moves back costs nothing until the old one comes up in the heap, because
// every acknowledgement moves one.

#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

struct QueuePairParts;

// The part of a queue pair that the agenda keeps.
struct Appointment {
    bool ready = false;             // stands in the queue of those that may send
    bool waits = false;             // has an answer that waits for company
    Nanoseconds deadline = never;   // when it wants to be called
    Nanoseconds scheduled = never;  // the earliest of its entries in the heap
};

class Agenda {
  public:
    void offer(QueuePairParts& parts);
    // The next that may send, taken out of the queue; null where none is.
    QueuePairParts *take_ready();

    // An answer of it waits for company, or for a lull.
    void wait(QueuePairParts& parts);
    // One of those, which then waits no more; null where none does.
    QueuePairParts *take_waiting();

    void schedule(QueuePairParts& parts, Nanoseconds deadline);
    Nanoseconds next_deadline();
    // The next whose deadline is not after `now`, which it then no longer has; null where none is.
    QueuePairParts *take_due(Nanoseconds now);

    void forget(const QueuePairParts& parts);

  private:
    struct Entry {
        Nanoseconds at = never;
        QueuePairParts *parts = nullptr;
    };
    void drop_stale();

    std::deque<QueuePairParts *> ready_;
    std::vector<QueuePairParts *> waiting_;
    std::vector<Entry> heap_;
};

}  // namespace lanewise::verbs
