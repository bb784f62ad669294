// SPDX-License-Identifier: BSD-3-Clause
//
// A queue pair as its owner sees it: post work, modify, query. What happens between is in the
// requester (sends, and what comes back), the responder (what the peer asks for) and the
// migration of paths; the device brings packets and time.

#pragma once

#include <cstdint>
#include <memory>

#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/queues/work_request.hpp"

namespace lanewise::verbs {

struct QueuePairParts;  // queue_pair_parts.hpp; for the engine's own files

class QueuePair {
  public:
    explicit QueuePair(std::unique_ptr<QueuePairParts> parts);
    ~QueuePair();

    // 0, or EINVAL (state, operation, flags, slices), ENOMEM (queue full).
    int post_send(const SendRequest& request);
    int post_receive(const ReceiveRequest& request);
    // Whether requests that were posted may wait for more to go with them: others are under way,
    // and those that wait do not fill a batch.
    bool gathers() const;

    // 0, or EINVAL, and then nothing has changed (ibv_modify_qp(3)). `mask` is of Attribute.
    int modify(const Attributes& attributes, std::uint32_t mask);
    Attributes query() const;

    const QueuePairInit& init() const;
    std::uint32_t number() const { return init().number; }
    State state() const;
    const QueuePairCounters& counters() const;

    QueuePairParts& parts() { return *parts_; }

  private:
    std::unique_ptr<QueuePairParts> parts_;
};

}  // namespace lanewise::verbs
