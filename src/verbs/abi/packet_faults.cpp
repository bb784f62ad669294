// SPDX-License-Identifier: BSD-3-Clause
//
// What a script of faults does to packets that arrive, and to the device at that moment.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "verbs/abi/adapter.hpp"
#include "verbs/abi/objects.hpp"
#include "verbs/faults/injector.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/opcode.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr Nanoseconds microsecond_ns = 1'000;

// The name by which a fault means a packet.
std::string_view kind_of_packet(std::span<const std::byte> packet) {
    if (packet.empty()) return "unknown";
    switch (opcode_row(std::to_integer<std::uint8_t>(packet.front())).kind) {
        case PacketKind::send: return "send";
        case PacketKind::write: return "write";
        case PacketKind::read_request: return "read_request";
        case PacketKind::read_response: return "read_response";
        case PacketKind::acknowledge:
        case PacketKind::atomic_acknowledge: return "acknowledge";
        case PacketKind::compare_swap:
        case PacketKind::fetch_add: return "atomic";
        case PacketKind::congestion_notification: return "congestion_notification";
        default: return "unknown";
    }
}

struct Numbered {
    faults::Stream stream;
    Psn psn;
};

// The place of a packet that its peer may send again. An acknowledgement is a new one each time.
std::optional<Numbered> numbered(const std::optional<Packet>& packet) {
    const bool repeats =
        packet && (packet->transport == Transport::rc || packet->transport == Transport::xrc);
    if (!repeats) return std::nullopt;
    if (packet->row.kind == PacketKind::acknowledge) return std::nullopt;
    const faults::Stream stream{.destination_qpn = packet->base.destination_qpn,
                                .responses = packet->row.is_response()};
    return Numbered{stream, packet->base.psn};
}

// Which queue pair of the process a packet is for; 0 for none.
std::uint64_t receiver_of(Device& engine, const std::optional<Packet>& packet) {
    return packet ? ordinal_of(engine, packet->base.destination_qpn) : 0;
}

std::uint64_t data_bytes(const std::optional<Packet>& packet) {
    return packet ? packet->payload.size() : 0;
}

// Whether the device takes a packet of a connection. One that it drops anyway, since its queue pair
// is not ready or its checksum is wrong, comes again: how often depends on time.
bool is_taken(Device& engine, const Packet& packet, std::span<const std::byte> bytes,
              const Arrival& arrival) {
    const QueuePair *queue_pair = engine.find(packet.base.destination_qpn);
    return queue_pair && queue_pair->receives() && (arrival.in_memory || intact(bytes, arrival));
}

// Whether a packet that meets this fault has arrived nevertheless, and will not be sent again.
bool arrives_with(std::string_view what) {
    constexpr std::array<std::string_view, 6> lost{"lose",      "corrupt",    "not_ready",
                                                   "port_down", "gid_change", "device_fatal"};
    return std::find(lost.begin(), lost.end(), what) == lost.end();
}

}  // namespace

void Adapter::take_with_faults(std::span<const std::byte> packet, const Arrival& arrival,
                               Nanoseconds now) {
    const auto decoded = decode(packet).packet;
    const auto sent = numbered(decoded);
    if (sent &&
        (arrived_.has(sent->stream, sent->psn) || !is_taken(*engine_, *decoded, packet, arrival))) {
        return engine_->on_packet(packet, arrival, now);
    }
    const std::string peer = port::text(arrival.source);
    const auto fault =
        faults::Injector::get()->decide({.place = faults::Place::packet,
                                         .name = kind_of_packet(packet),
                                         .device = config_.name,
                                         .queue_pair = receiver_of(*engine_, decoded),
                                         .peer = peer,
                                         .bytes = data_bytes(decoded)});
    if (sent && (!fault || arrives_with(fault->what))) arrived_.add(sent->stream, sent->psn);
    if (!fault) return engine_->on_packet(packet, arrival, now);
    const Nanoseconds duration = Nanoseconds{fault->value} * microsecond_ns;
    if (fault->what == "delay") {
        late_.emplace(now + duration, Late{{packet.begin(), packet.end()}, arrival});
    } else if (fault->what == "corrupt") {
        take_corrupted(packet, arrival, now);
    } else if (fault->what == "mark") {
        Arrival changed = arrival;
        changed.traffic_class |= marked;
        engine_->on_packet(packet, changed, now);
    } else if (fault->what == "not_ready") {
        engine_->on_packet_without_receives(packet, arrival, now);
    } else if (fault->what == "double") {
        engine_->on_packet(packet, arrival, now);
        engine_->on_packet(packet, arrival, now);
    } else {
        befall(fault->what, arrival.port, now + duration);
    }
}

void Adapter::take_corrupted(std::span<const std::byte> packet, const Arrival& arrival,
                             Nanoseconds now) {
    std::vector<std::byte> changed(packet.begin(), packet.end());
    changed.back() ^= std::byte{1};
    // What comes through memory has no checksum, so it has a wrong one then.
    Arrival checked = arrival;
    checked.in_memory = false;
    engine_->on_packet(changed, checked, now);
}

// The packet is lost, and more with it.
void Adapter::befall(std::string_view what, std::uint8_t port, Nanoseconds until) {
    if (what == "port_down") {
        held_down_until_.at(port - 1U) = until;
        has_port_fault_ = true;  // looked at when what has arrived has been taken
    } else if (what == "gid_change") {
        move_first_gid(port);
    } else if (what == "device_fatal" && !is_dead_) {
        is_dead_ = true;
        engine_->fail_all();
        if (notify_) notify_({.kind = EventKind::device_fatal});
    }
}

bool Adapter::is_held_down(std::uint8_t port) const {
    return held_down_until_.at(port - 1U) != 0;
}

void Adapter::release_ports(Nanoseconds now) {
    bool is_released = std::exchange(has_port_fault_, false);
    for (Nanoseconds& until : held_down_until_) {
        if (until == 0 || until > now) continue;
        until = 0;
        is_released = true;
    }
    if (is_released) take_interfaces(known_interfaces());
}

std::vector<port::Interface> Adapter::known_interfaces() const {
    std::vector<port::Interface> known;
    for (const Port& port : ports_) known.push_back(port.interface);
    return known;
}

Nanoseconds Adapter::next_fault_end() const {
    if (has_port_fault_) return 0;
    Nanoseconds next = late_.empty() ? never : late_.begin()->first;
    for (const Nanoseconds until : held_down_until_) {
        if (until != 0) next = std::min(next, until);
    }
    return next;
}

// The first GID of a port gets the index behind the last one, as if its address had been removed
// and added again.
void Adapter::move_first_gid(std::uint8_t port) {
    GidTable& gids = ports_[port - 1U].gids;
    const auto first = std::find_if(gids.begin(), gids.end(),
                                    [](const Address& one) { return one != no_address; });
    const auto last = std::find_if(gids.rbegin(), gids.rend(),
                                   [](const Address& one) { return one != no_address; });
    if (first == gids.end() || last == gids.rbegin()) return;
    std::swap(*first, *(last - 1));
    if (notify_) notify_({.kind = EventKind::gid_changed, .port = port});
}

void Adapter::take_late(Nanoseconds now) {
    while (!late_.empty() && late_.begin()->first <= now) {
        const Late one = std::move(late_.extract(late_.begin()).mapped());
        engine_->on_packet(one.packet, one.arrival, now);
    }
}

}  // namespace lanewise::verbs::abi
