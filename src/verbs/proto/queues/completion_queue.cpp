// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queues/completion_queue.hpp"

#include <algorithm>
#include <cerrno>

namespace lanewise::verbs {

namespace {

bool is_urgent(const Completion& completion) {
    return completion.solicited || completion.status != Status::success;
}

}  // namespace

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
    if (is_wanted_of_those_here()) wake();
}

// A program that sleeps after this would wait for what it could have polled.
bool CompletionQueue::is_wanted_of_those_here() const {
    if (wanted_ == Wanted::any) return ring_.size() > 0;
    bool urgent = false;
    for (std::size_t i = 0; i < ring_.size(); ++i) urgent = urgent || is_urgent(ring_[i]);
    return urgent;
}

void CompletionQueue::wake() {
    wanted_ = Wanted::nothing;
    events_.push_back({.kind = EventKind::completion, .completion_queue = this});
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
    if (wanted_ == Wanted::any || (wanted_ == Wanted::solicited && is_urgent(completion))) wake();
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
