// SPDX-License-Identifier: BSD-3-Clause
//
// What the requester and the responder of a queue pair share: its attributes, its paths, its
// counters, and how it fails.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/migration_cause.hpp"
#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/connection/device_context.hpp"
#include "verbs/proto/queues/completion_queue.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs {

// The size and destination of the packet that would be sent next.
struct NextPacket {
    std::size_t bytes = 0;
    const AddressVector *to = nullptr;
    // Whether it may have to wait where the network is congested: what a program asked for. Answers
    // without data do not.
    bool is_paced = true;
};

inline constexpr std::size_t migration_causes_max = 8;

struct Connection {
    Connection(DeviceContext& context, const QueuePairInit& chosen, QueuePair *owner)
        : device(context), init(chosen), handle(owner) {}

    DeviceContext& device;
    QueuePairInit init;
    QueuePair *handle;  // for events
    Attributes attributes;
    QueuePairCounters counters;
    // Of the last migrations; that of the n-th is at n % migration_causes_max.
    std::array<MigrationCause, migration_causes_max> migration_causes{};
    bool alternate_loaded = false;
    bool alternate_confirmed = false;  // the peer has been heard on it since it was loaded
    bool migration_error_reported = false;
    bool established_reported = false;
    // The path before the last migration. Packets that were in flight on it are still accepted.
    std::optional<Path> previous_path;

    bool extended() const { return init.transport == Transport::xrc; }
    bool reliable() const { return init.transport == Transport::rc || extended(); }
    bool connected() const { return init.transport != Transport::ud; }
    // As whom requests of the peer, and those that change a window, reach memory.
    Accessor accessor() const { return {init.domain, init.number}; }
    std::uint32_t mtu() const { return mtu_bytes(attributes.path_mtu); }
    State state() const { return attributes.state; }
    bool receives() const {
        return state() >= State::ready_to_receive && state() <= State::send_queue_error;
    }
    bool sends() const {
        return state() == State::ready_to_send || state() == State::send_queue_drained;
    }

    void report(EventKind kind) { device.events.push_back({.kind = kind, .queue_pair = handle}); }

    void fail() { attributes.state = State::error; }

    // Adds a completion; the queue pair fails if the queue is full. None is of a queue that is
    // gone.
    void complete(CompletionQueue *queue, const Completion& completion) {
        ++device.completions;
        if (queue != nullptr && !queue->push(completion, device.now) && state() != State::error) {
            fail();
            report(EventKind::qp_fatal);
        }
    }

    const OpcodeRow& row(PacketKind kind, Part part, Extra extra) const {
        return opcode_row(opcode_of(init.transport, kind, part, extra));
    }

    // A packet to the peer with the fields filled in that all packets of this queue pair share.
    Packet packet(PacketKind kind, Part part, Extra extra) const {
        Packet made;
        made.transport = init.transport;
        made.base.opcode = opcode_of(init.transport, kind, part, extra);
        made.row = opcode_row(made.base.opcode);
        made.base.migration_request = connected() && attributes.migration == Migration::migrated;
        made.base.pkey = device.config.pkey;
        made.base.destination_qpn = attributes.destination_qpn;
        return made;
    }
};

}  // namespace lanewise::verbs
