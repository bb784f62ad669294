// SPDX-License-Identifier: BSD-3-Clause
//
// What the requester and the responder of a queue pair share: its attributes, its paths, and how
// it fails.

#pragma once

#include <cstdint>
#include <optional>

#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/connection/device_parts.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs {

struct Connection {
    Connection(DeviceParts& owner, const QueuePairInit& chosen) : device(owner), init(chosen) {}

    DeviceParts& device;
    QueuePairInit init;
    QueuePair *handle = nullptr;
    Attributes attributes;
    QueuePairCounters counters;
    bool alternate_loaded = false;
    bool migration_error_told = false;
    bool established_told = false;
    // The path that was left last. Packets that were on their way there still count.
    std::optional<Path> retired;

    bool reliable() const { return init.transport == Transport::rc; }
    bool connected() const { return init.transport != Transport::ud; }
    std::uint32_t mtu() const { return mtu_bytes(attributes.path_mtu); }
    State state() const { return attributes.state; }
    bool receives() const {
        return state() >= State::ready_to_receive && state() <= State::send_queue_error;
    }
    bool sends() const {
        return state() == State::ready_to_send || state() == State::send_queue_drained;
    }

    void tell(EventKind kind) { device.events.push_back({.kind = kind, .queue_pair = handle}); }

    // The state of a queue pair that can no longer do what it was asked to.
    void fail() { attributes.state = State::error; }

    // A completion goes in, and the queue pair out where the queue is full.
    void complete(CompletionQueue *queue, const Completion& completion) {
        if (!queue->push(completion) && state() != State::error) {
            fail();
            tell(EventKind::qp_fatal);
        }
    }

    const OpcodeRow& row(Kind kind, Part part, bool immediate) const {
        return opcode_row(opcode_of(init.transport, kind, part, immediate));
    }

    // A packet to the peer with everything that the queue pair knows filled in.
    Packet packet(Kind kind, Part part, bool immediate) const {
        Packet made;
        made.transport = init.transport;
        made.base.opcode = opcode_of(init.transport, kind, part, immediate);
        made.row = opcode_row(made.base.opcode);
        made.base.migration_request = connected() && attributes.migration == Migration::migrated;
        made.base.pkey = device.config.pkey;
        made.base.destination_qpn = attributes.destination_qpn;
        return made;
    }
};

}  // namespace lanewise::verbs
