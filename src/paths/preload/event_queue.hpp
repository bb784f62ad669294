// SPDX-License-Identifier: BSD-3-Clause
//
// The events for the program, and the descriptor that it sees in place of the device's: readable
// while there are events, and blocking or not as the program wants.

#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <mutex>
#include <set>

#include "base/result.hpp"

namespace lanewise::paths::preload {

// What an event is about; null for ports and the device.
const void *element_of(const ibv_async_event& event);

class EventQueue {
  public:
    EventQueue();
    ~EventQueue();
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;

    // A failure where no descriptor is left.
    Outcome check() const;
    int descriptor() const { return descriptor_; }
    // False if it is about an object that is being destroyed.
    bool add(const ibv_async_event& event);
    // 0, or -1 with errno set.
    int take(ibv_async_event& event);
    // From now on events of `element` are not accepted; those still queued go to `drop`.
    void close(const void *element, void (*drop)(ibv_async_event *));
    // The object is destroyed, or could not be.
    void reopen(const void *element);

  private:
    int descriptor_;
    std::mutex lock_;
    std::deque<ibv_async_event> waiting_;
    std::set<const void *> closed_;
};

}  // namespace lanewise::paths::preload
