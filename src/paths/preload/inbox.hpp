// SPDX-License-Identifier: BSD-3-Clause
//
// The events that are left for the program, and the descriptor that it sees in the place of the
// device's: readable while there are some, and blocking or not as the program wants.

#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <mutex>
#include <set>

namespace lanewise::paths::preload {

// What an event is about; null for ports and the device.
const void *element_of(const ibv_async_event& event);

class Inbox {
  public:
    Inbox();
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    int descriptor() const { return descriptor_; }
    // False where it is about something that is being destroyed.
    bool add(const ibv_async_event& event);
    // 0, or -1 with errno set.
    int take(ibv_async_event& event);
    // From now on nothing about `element` is taken in; what nobody has taken goes to `drop`.
    void close(const void *element, void (*drop)(ibv_async_event *));
    // It is gone, or it stays after all.
    void reopen(const void *element);

  private:
    int descriptor_;
    std::mutex lock_;
    std::deque<ibv_async_event> waiting_;
    std::set<const void *> closed_;
};

}  // namespace lanewise::paths::preload
