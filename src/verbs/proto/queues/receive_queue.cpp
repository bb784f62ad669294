// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queues/receive_queue.hpp"

#include <cerrno>
#include <utility>

namespace lanewise::verbs {

ReceiveQueue::ReceiveQueue(std::uint32_t requests_max, std::uint32_t slices_max)
    : requests_max_(requests_max), slices_max_(slices_max) {}

int ReceiveQueue::post(const ReceiveRequest& request) {
    if (request.slices.size() > slices_max_) {
        return EINVAL;
    }
    if (ring_.size() >= requests_max_) {
        return ENOMEM;
    }
    ReceiveEntry& entry = ring_.push();
    entry.id = request.id;
    entry.slices.assign(request.slices.begin(), request.slices.end());
    return 0;
}

bool ReceiveQueue::take(ReceiveEntry& entry) {
    if (ring_.empty()) {
        return false;
    }
    std::swap(entry, ring_.front());
    ring_.pop();
    return true;
}

int ReceiveQueue::resize(std::uint32_t requests_max) {
    if (requests_max == 0 || requests_max < ring_.size()) {
        return EINVAL;
    }
    requests_max_ = requests_max;
    return 0;
}

SharedReceiveQueue::SharedReceiveQueue(ProtectionDomain domain, std::uint32_t requests_max,
                                       std::uint32_t slices_max, std::deque<Event>& events,
                                       void *cookie, const ExtendedReceive& extended)
    : queue_(requests_max, slices_max),
      domain_(domain),
      events_(events),
      cookie_(cookie),
      extended_(extended) {}

int SharedReceiveQueue::post(const ReceiveRequest& request) {
    return queue_.post(request);
}

int SharedReceiveQueue::set_limit(std::uint32_t limit) {
    if (limit > queue_.capacity()) {
        return EINVAL;
    }
    limit_ = limit;
    return 0;
}

int SharedReceiveQueue::resize(std::uint32_t requests_max) {
    return queue_.resize(requests_max);
}

bool SharedReceiveQueue::take(ReceiveEntry& entry) {
    if (!queue_.take(entry)) {
        return false;
    }
    if (queue_.size() < limit_) {
        limit_ = 0;
        events_.push_back({.kind = EventKind::srq_limit_reached, .shared_receive_queue = this});
    }
    return true;
}

}  // namespace lanewise::verbs
