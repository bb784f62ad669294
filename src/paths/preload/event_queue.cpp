// SPDX-License-Identifier: BSD-3-Clause

#include "paths/preload/event_queue.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace lanewise::paths::preload {

const void *element_of(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_PORT_ACTIVE:
        case IBV_EVENT_PORT_ERR:
        case IBV_EVENT_LID_CHANGE:
        case IBV_EVENT_PKEY_CHANGE:
        case IBV_EVENT_SM_CHANGE:
        case IBV_EVENT_CLIENT_REREGISTER:
        case IBV_EVENT_GID_CHANGE:
        case IBV_EVENT_DEVICE_FATAL: return nullptr;
        default: return event.element.qp;
    }
}

EventQueue::EventQueue() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {}

EventQueue::~EventQueue() {
    ::close(descriptor_);
}

Outcome EventQueue::check() const {
    if (descriptor_ >= 0) return Done{};
    return Failure{LW_ERR_LIMIT,
                   "no descriptor is left for the events of a device; allow more open files "
                   "(ulimit -n)"};
}

bool EventQueue::add(const ibv_async_event& event) {
    {
        const std::lock_guard guard(lock_);
        if (closed_.contains(element_of(event))) return false;
        waiting_.push_back(event);
    }
    eventfd_write(descriptor_, 1);
    return true;
}

int EventQueue::take(ibv_async_event& event) {
    for (;;) {
        eventfd_t unused = 0;
        if (eventfd_read(descriptor_, &unused) != 0) return -1;
        const std::lock_guard guard(lock_);
        if (waiting_.empty()) continue;
        event = waiting_.front();
        waiting_.pop_front();
        return 0;
    }
}

void EventQueue::close(const void *element, void (*drop)(ibv_async_event *)) {
    const std::lock_guard guard(lock_);
    closed_.insert(element);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        if (element_of(*at) != element) {
            ++at;
            continue;
        }
        drop(&*at);
        at = waiting_.erase(at);
        pollfd ready{descriptor_, POLLIN, 0};
        eventfd_t unused = 0;
        if (poll(&ready, 1, 0) > 0) eventfd_read(descriptor_, &unused);
    }
}

void EventQueue::reopen(const void *element) {
    const std::lock_guard guard(lock_);
    closed_.erase(element);
}

}  // namespace lanewise::paths::preload
