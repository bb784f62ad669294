// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/queue_pair/queue_pair.hpp"

#include <algorithm>
#include <utility>

#include "verbs/proto/connection/migration.hpp"
#include "verbs/proto/queue_pair/queue_pair_parts.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::uint16_t pkey_base = 0x7fff;
constexpr std::uint16_t pkey_full_member = 0x8000;
constexpr unsigned announcements_max = 8;

// Two limited members of a partition may not talk to each other.
bool same_partition(std::uint16_t a, std::uint16_t b) {
    return (a & pkey_base) == (b & pkey_base) && ((a | b) & pkey_full_member) != 0;
}

}  // namespace

QueuePair::QueuePair(std::unique_ptr<QueuePairParts> parts) : parts_(std::move(parts)) {
    parts_->connection.handle = this;
}

QueuePair::~QueuePair() = default;

const QueuePairInit& QueuePair::init() const {
    return parts_->connection.init;
}

State QueuePair::state() const {
    return parts_->connection.state();
}

const QueuePairCounters& QueuePair::counters() const {
    return parts_->connection.counters;
}

int QueuePair::post_send(const SendRequest& request) {
    const int refused = parts_->requester.post(request);
    if (refused == 0) {
        parts_->settle();
    }
    return refused;
}

int QueuePair::post_receive(const ReceiveRequest& request) {
    const int refused = parts_->responder.post(request);
    if (refused == 0 && state() == State::error) {
        parts_->settle();
    }
    return refused;
}

bool QueuePair::gathers() const {
    return parts_->requester.gathers();
}

Attributes QueuePair::query() const {
    Attributes attributes = parts_->connection.attributes;
    attributes.current_state = attributes.state;
    attributes.draining =
        attributes.state == State::send_queue_drained && !parts_->requester.idle();
    return attributes;
}

void QueuePairParts::on_packet(const Packet& packet, const Arrival& from, Nanoseconds now) {
    if (!connection.receives() || packet.transport != connection.init.transport) {
        ++connection.counters.dropped;
        return;
    }
    if (!same_partition(packet.base.pkey, connection.device.config.pkey)) {
        ++connection.device.port(from.port).counters.pkey_violations;
        ++connection.counters.dropped;
        return;
    }
    const Passage passage = admit(connection, packet, from);
    if (passage == Passage::foreign) {
        ++connection.counters.foreign_packets;
        return;
    }
    if (passage == Passage::followed && connection.reliable()) {
        requester.go_back();
    }
    if (packet.base.migration_request) {  // it has followed, or was there before
        announcements_left = 0;
        announce_at = never;
    }
    ++connection.counters.packets_received;
    connection.counters.bytes_received += packet.payload.size();
    if (connection.state() == State::ready_to_receive && !connection.established_told) {
        connection.established_told = true;
        connection.tell(EventKind::communication_established);
    }
    if (!connection.connected()) {
        responder.on_datagram(packet, from);
    } else if (!connection.reliable()) {
        responder.on_unreliable(packet);
    } else if (!packet.row.is_response()) {
        responder.on_request(packet, now);
    } else if (connection.sends()) {
        requester.on_response(packet, now);
    }
    settle();
}

void QueuePairParts::on_deadline(Nanoseconds now) {
    if (announce_at <= now) {
        announce_at = never;
        --announcements_left;
        responder.announce();
    }
    requester.on_deadline(now);
    responder.on_deadline(now);
    settle();
}

void QueuePairParts::on_port_down(std::uint8_t port) {
    if (leaves_port(connection, port)) {
        leave_path();
        settle();
    }
}

void QueuePairParts::leave_path() {
    migrate(connection);
    if (connection.reliable()) {
        requester.go_back();
        responder.announce();
        announcements_left = announcements_max;
    }
}

// An announcement may be lost, and a peer that only sends would learn of it no earlier than by its
// timeout. They come less and less often.
void QueuePairParts::keep_announcing(Nanoseconds now) {
    const Nanoseconds pause = connection.device.config.probe_ns;
    if (announcements_left > 0 && announce_at == never && pause > 0) {
        announce_at = now + (pause << (announcements_max - announcements_left));
    }
}

void QueuePairParts::settle() {
    const State state = connection.state();
    if (state == State::error || state == State::send_queue_error) {
        requester.flush();
    }
    if (state == State::error) {
        if (!flushed || connection.init.shared_receive_queue == nullptr) {
            responder.flush();
        }
        flushed = true;
    }
    if (state == State::send_queue_drained && requester.idle() && !drained_told) {
        drained_told = true;
        if (connection.attributes.drained_notice) {
            connection.tell(EventKind::send_queue_drained);
        }
    }
    const Nanoseconds deadline = std::min(requester.deadline(), announce_at);
    connection.device.agenda.schedule(
        *this, std::min(connection.sends() ? deadline : never, responder.deadline()));
    if (responder.waits()) {
        connection.device.agenda.wait(*this);
    }
    connection.device.agenda.offer(*this);
}

std::optional<Transmission> QueuePairParts::transmit(Batch& batch, std::size_t segments_max,
                                                     Nanoseconds now) {
    std::optional<Transmission> run;
    AddressVector to;
    bool open = true;
    while (open && (!run || run->segments < segments_max)) {
        const auto answer = responder.peek();
        const auto request = answer && !responder.waits() ? std::nullopt : requester.peek();
        const auto next = request ? request : answer;
        if (!next || (!request && responder.waits() && !run)) {
            break;
        }
        const std::size_t used = run ? run->bytes : 0;
        if (used + next->bytes > batch.capacity_bytes() ||
            (run && (next->bytes > run->segment_bytes || *next->to != to))) {
            break;
        }
        to = *next->to;
        batch.begin();
        if (!(request ? requester.write_next(batch, now) : responder.write_next(batch))) {
            batch.drop();
            settle();
            continue;
        }
        const Origin origin = run ? run->origin : connection.device.origin_of(to);
        const auto ip_id = static_cast<std::uint16_t>(origin.ip_id + (run ? run->segments : 0));
        const std::size_t bytes =
            batch.finish({to.source, to.destination, origin.source_udp_port}, ip_id);
        if (!run) {
            run = Transmission{.port = to.port,
                               .source = to.source,
                               .destination = to.destination,
                               .origin = origin,
                               .traffic_class = to.traffic_class,
                               .hop_limit = to.hop_limit,
                               .flow_label = to.flow_label,
                               .segment_bytes = bytes};
        }
        run->bytes += bytes;
        ++run->segments;
        open = bytes == run->segment_bytes;
    }
    if (run) {
        connection.counters.packets_sent += run->segments;
        connection.counters.bytes_sent += run->bytes;
        keep_announcing(now);
        settle();
    }
    return run;
}

}  // namespace lanewise::verbs
