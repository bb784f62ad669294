// SPDX-License-Identifier: BSD-3-Clause
//
// Receive requests that wait for a message: the queue of one queue pair, or one that several share.

#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/queues/event.hpp"
#include "verbs/proto/queues/ring.hpp"
#include "verbs/proto/queues/work_request.hpp"

namespace lanewise::verbs {

struct ReceiveEntry {
    std::uint64_t id = 0;
    std::vector<Slice> slices;
};

class ReceiveQueue {
  public:
    ReceiveQueue(std::uint32_t requests_max, std::uint32_t slices_max);

    // 0, or ENOMEM where the queue is full, or EINVAL where the request has too many slices.
    int post(const ReceiveRequest& request);
    // Swaps the oldest request into `entry`, so that neither side allocates; false where none is.
    bool take(ReceiveEntry& entry);

    std::uint32_t size() const { return static_cast<std::uint32_t>(ring_.size()); }
    std::uint32_t capacity() const { return requests_max_; }
    std::uint32_t slices_max() const { return slices_max_; }
    int resize(std::uint32_t requests_max);

  private:
    Ring<ReceiveEntry> ring_;
    std::uint32_t requests_max_;
    std::uint32_t slices_max_;
};

class CompletionQueue;

// What makes a queue one that extended connections receive into: its number on the wire, whose
// connections may name it, and where what it receives completes.
struct ExtendedReceive {
    std::uint32_t number = 0;
    std::uint32_t xrc_domain = 0;
    CompletionQueue *completions = nullptr;
};

class SharedReceiveQueue {
  public:
    SharedReceiveQueue(ProtectionDomain domain, std::uint32_t requests_max,
                       std::uint32_t slices_max, std::deque<Event>& events, void *cookie,
                       const ExtendedReceive& extended = {});

    int post(const ReceiveRequest& request);
    // Reports srq_limit_reached once when fewer than `limit` requests are left; 0 is never.
    int set_limit(std::uint32_t limit);
    int resize(std::uint32_t requests_max);

    // For queue pairs.
    bool take(ReceiveEntry& entry);

    std::uint32_t limit() const { return limit_; }
    const ReceiveQueue& queue() const { return queue_; }
    ProtectionDomain domain() const { return domain_; }
    const ExtendedReceive& extended() const { return extended_; }
    void *cookie() const { return cookie_; }
    std::uint32_t users = 0;  // queue pairs that receive from here

  private:
    ReceiveQueue queue_;
    ProtectionDomain domain_;
    std::uint32_t limit_ = 0;
    std::deque<Event>& events_;
    void *cookie_;
    ExtendedReceive extended_;  // its number is 0 where it is no such queue
};

}  // namespace lanewise::verbs
