// SPDX-License-Identifier: BSD-3-Clause
//
// What queue pairs see of their device: its configuration, registered memory, ports, events and
// scheduler. The device itself (device/) owns the queue pairs and one of these.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/connection/scheduler.hpp"
#include "verbs/proto/connection/time_wait.hpp"
#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/queues/event.hpp"
#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

// The largest window of this device, and how many packets it has at most: no peer of this kind
// sends further ahead, and the kernel's device sends far less.
inline constexpr std::uint32_t window_bytes_max = 512 << 10;
inline constexpr auto window_packets_max =
    static_cast<std::int32_t>(window_bytes_max / socket_buffer_bytes(0));

// What is done about congestion that a network tells of (RoCEv2, annex A17.9.3). With `none`
// packets say that they cannot be marked, marks are counted, and notifications ignored.
enum class Congestion : std::uint8_t { none, dcqcn };

struct DeviceConfig {
    std::uint8_t port_count = 1;
    std::uint16_t pkey = 0xffff;  // of every port, at index 0
    Mtu mtu = Mtu::b4096;         // the longest datagram of UD
    std::uint8_t read_atomic_max = 16;
    std::uint32_t requests_max = 16384;
    std::uint32_t slices_max = 32;
    std::uint32_t inline_bytes_max = 1024;
    std::uint64_t message_bytes_max = 1u << 30;
    // The largest send window: less than the socket buffer at the other end holds. Large reads are
    // requested in pieces of half of it.
    std::uint32_t window_bytes = 256 * 1024;
    // How long an acknowledgement may be delayed, so that it leaves in one batch with data for the
    // same peer. 0: not at all.
    Nanoseconds ack_delay_ns = 0;
    // How long the messages that complete nothing at their sender (that are not signaled) may
    // remain unacknowledged: the requester does not ask for an acknowledgement of each of them, and
    // the responder acknowledges them within this time. 0: it asks.
    Nanoseconds lazy_ack_ns = 0;
    // How many bytes of out-of-order packets a queue pair buffers. 0: it drops them, as hardware
    // may.
    std::uint32_t reassembly_bytes = 256 * 1024;
    // How long a packet may be missing before the peer is asked for it, unless several have
    // overtaken it. 0: not at all.
    Nanoseconds reorder_ns = 0;
    // If no acknowledgement comes for longer than the estimated round trip, and for longer than
    // this, the requester asks for one by sending the oldest packet again. That is long before the
    // ack timeout of the queue pair and uses up none of its retries. 0: never.
    Nanoseconds probe_ns = 0;
    // Beyond the standard: how long a connection that is gone answers a peer that has not received
    // the last acknowledgement, from the last request on; longer where round trips are long.
    // 0: not at all.
    Nanoseconds time_wait_ns = 0;
    // Beyond the standard: how long a queue pair whose paths are all dead goes on retrying before
    // it fails. It then also migrates to an alternate path that is loaded and not yet armed.
    // 0: never.
    Nanoseconds retry_window_ns = 0;
    // Beyond the standard: a queue pair is armed only when its peer has answered on the alternate
    // path, and asks for that answer.
    bool confirm_alternates = false;
    Congestion congestion = Congestion::none;
};

// Returns the origin of the next datagram to an address. It is called once for each run of
// datagrams, before they are sealed. `reliable_qpn` is the queue pair that they are for if it would
// bear it that they overtake others; else 0.
using OriginOf = std::function<Origin(const AddressVector& to, std::uint32_t reliable_qpn)>;

// Returns the way to the same peer over the other port; none if there is none.
using OtherWay = std::function<std::optional<AddressVector>(const AddressVector& to)>;

// Datagrams that have been sent, and are to be sent again or to another address as well.
struct Copies {
    AddressVector to;
    std::vector<std::byte> bytes;
    std::size_t segment_bytes = 0;
};

enum class PortState : std::uint8_t { down, active };

struct DevicePort {
    PortState state = PortState::active;
    PortCounters counters;
};

struct DeviceContext {
    DeviceConfig config;
    OriginOf given_origin_of;
    // Beyond the standard, which lets a datagram be lost with the port: if this is given, each
    // leaves on both ports, and the receiver drops the second copy (connection/copy_filter.hpp).
    OtherWay other_way;
    MemoryTable memory;
    std::vector<DevicePort> ports;  // the port numbered n is ports[n - 1]
    std::deque<Event> events;
    Scheduler scheduler;
    std::deque<Copies> copies;
    TimeWait time_wait;
    // Those that extended connections receive into, by the numbers that packets name.
    std::unordered_map<std::uint32_t, SharedReceiveQueue *> numbered_queues;
    bool lacks_receives = false;    // as if no program had posted any
    std::uint64_t completions = 0;  // that were added to any queue
    // Of the latest call that told the time; completions carry it.
    Nanoseconds now = 0;

    bool has_port(std::uint8_t number) const { return number >= 1 && number <= ports.size(); }
    DevicePort& port(std::uint8_t number) { return ports[number - 1u]; }
    const DevicePort& port(std::uint8_t number) const { return ports[number - 1u]; }
    // What stands in the header of IP: the program's class, with the bits of congestion that are
    // the device's own business.
    std::uint8_t traffic_class_of(const AddressVector& to) const {
        if (config.congestion == Congestion::none) return to.traffic_class;
        return static_cast<std::uint8_t>((to.traffic_class & ~congestion_bits) | can_be_marked);
    }
    Origin origin_of(const AddressVector& to, std::uint32_t reliable_qpn) const {
        return given_origin_of ? given_origin_of(to, reliable_qpn)
                               : Origin{.source_udp_port = to.source_udp_port};
    }
};

}  // namespace lanewise::verbs
