// SPDX-License-Identifier: BSD-3-Clause
//
// What the engine reports besides completions: the asynchronous events of ibv_get_async_event(3),
// numbered as enum ibv_event_type, and the notice that an armed completion queue got an entry.

#pragma once

#include <cstdint>

namespace lanewise::verbs {

class CompletionQueue;
class QueuePair;
class SharedReceiveQueue;

enum class EventKind : std::uint8_t {
    cq_error = 0,
    qp_fatal = 1,
    qp_request_error = 2,
    qp_access_error = 3,
    communication_established = 4,
    send_queue_drained = 5,
    path_migrated = 6,
    path_migration_error = 7,
    device_fatal = 8,
    port_active = 9,
    port_error = 10,
    srq_limit_reached = 15,
    last_request_reached = 16,
    gid_changed = 18,  // of a port; the border's own
    completion = 64,   // not asynchronous: for the completion channel of the queue
};

// Exactly one of the pointers, or the port, is set, as the kind says. destroy() of an object
// removes its events that were not yet taken.
struct Event {
    EventKind kind = EventKind::qp_fatal;
    std::uint8_t port = 0;
    QueuePair *queue_pair = nullptr;
    CompletionQueue *completion_queue = nullptr;
    SharedReceiveQueue *shared_receive_queue = nullptr;
};

}  // namespace lanewise::verbs
