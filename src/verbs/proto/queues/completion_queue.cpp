// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queues/completion_queue.hpp"

#include <algorithm>
#include <cerrno>

namespace lanewise::verbs {

CompletionQueue::CompletionQueue(std::uint32_t capacity, std::deque<Event>& events, void *cookie)
    : capacity_(capacity), events_(events), cookie_(cookie) {}

std::size_t CompletionQueue::poll(std::span<Completion> into) {
    const std::size_t taken = std::min(into.size(), ring_.size());
    for (std::size_t i = 0; i < taken; ++i) {
        into[i] = ring_.front();
        ring_.pop();
    }
    return taken;
}

void CompletionQueue::arm(Wanted wanted) {
    // To want any completion covers wanting a solicited one, whatever the order of the calls.
    wanted_ = std::max(wanted_, wanted);
}

int CompletionQueue::resize(std::uint32_t capacity) {
    if (capacity == 0 || capacity < ring_.size()) {
        return EINVAL;
    }
    capacity_ = capacity;
    return 0;
}

bool CompletionQueue::push(const Completion& completion, Nanoseconds now) {
    if (ring_.size() == capacity_ || overrun_) {
        if (!overrun_) {
            overrun_ = true;
            events_.push_back({.kind = EventKind::cq_error, .completion_queue = this});
        }
        return false;
    }
    Completion& added = ring_.push();
    added = completion;
    added.at = now;
    const bool urgent = completion.solicited || completion.status != Status::success;
    if (wanted_ == Wanted::any || (wanted_ == Wanted::solicited && urgent)) {
        wanted_ = Wanted::nothing;
        events_.push_back({.kind = EventKind::completion, .completion_queue = this});
    }
    return true;
}

void CompletionQueue::forget(std::uint32_t qpn) {
    const std::size_t count = ring_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const Completion oldest = ring_.front();
        ring_.pop();
        if (oldest.qpn != qpn) {
            ring_.push() = oldest;
        }
    }
}

}  // namespace lanewise::verbs
