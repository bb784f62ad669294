// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: a device with its ports, memory, queues and queue pairs, as a pure state machine.
// Packets, work requests and time go in; packets, completions, events and the next deadline come
// out. It knows no socket, clock or thread; calls must not overlap, which is for the border to see
// to. A step of the border is: hand every datagram that arrived to on_packet(), call on_deadline()
// when next_deadline() has come, then poll_transmit() until it has nothing, then poll_event().

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/queue_pair/queue_pair.hpp"
#include "verbs/proto/queues/completion_queue.hpp"
#include "verbs/proto/queues/event.hpp"
#include "verbs/proto/queues/receive_queue.hpp"
#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/batch.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

using OriginOf = std::function<Origin(const AddressVector& to)>;

struct DeviceConfig {
    std::uint8_t port_count = 1;
    std::uint16_t pkey = 0xffff;  // of every port, at index 0
    Mtu mtu = Mtu::b4096;         // the longest datagram of UD
    std::uint8_t read_atomic_max = 16;
    std::uint32_t requests_max = 16384;
    std::uint32_t slices_max = 32;
    std::uint32_t inline_bytes_max = 1024;
    std::uint64_t message_bytes_max = 1u << 30;
    // How much a requester sends ahead of acknowledgements at most: less than the socket buffer at
    // the other end holds. Large reads are asked for in pieces of half of it.
    std::uint32_t window_bytes = 256 * 1024;
    // How long an acknowledgement waits for company, which is data for the same peer, so that both
    // leave in one batch. 0: not at all.
    Nanoseconds ack_delay_ns = 0;
    // How much of what comes before its turn a queue pair keeps. 0: drops it, as hardware may.
    std::uint32_t early_bytes = 256 * 1024;
    // How long a packet that is missing may be late before the peer is asked for it, unless several
    // have overtaken it. 0: not at all.
    Nanoseconds reorder_ns = 0;
    // Asks for an acknowledgement, by sending the oldest packet again, where none comes for longer
    // than round trips take, and than this; long before the timeout of the queue pair, and without
    // using up its retries. 0: never.
    Nanoseconds probe_ns = 0;
    // Beyond the standard: how long a queue pair whose paths are all dead goes on trying before it
    // fails. It then also leaves for an alternate that is loaded and not yet armed. 0: never.
    Nanoseconds grace_ns = 0;
};

enum class PortState : std::uint8_t { down, active };

// A run of datagrams for one sendmsg(2) with UDP_SEGMENT: all of them go from and to the same
// address, all but the last are `segment_bytes` long and the last is not longer. The ICRC of the
// i-th holds for an IPv4 identification of i more than that of the first, which is what Linux gives
// to segments where fragments are forbidden.
struct Transmission {
    std::uint8_t port = 1;
    Address source = no_address;
    Address destination = no_address;
    Origin origin;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0;
    std::size_t bytes = 0;  // all segments, from the start of the buffer
    std::size_t segment_bytes = 0;
    std::size_t segments = 0;
};

struct DeviceParts;  // device_parts.hpp; for the engine's own files

class Device {
  public:
    // `origin_of` is asked once for each run of datagrams, before they are sealed. Without it the
    // port is what the address says, and the identification 0.
    explicit Device(const DeviceConfig& config, OriginOf origin_of = {});
    ~Device();

    const DeviceConfig& config() const;
    MemoryTable& memory();

    // Objects live until they are destroyed or the device is. `cookie` is the border's own.
    CompletionQueue *create_completion_queue(std::uint32_t capacity, void *cookie);
    SharedReceiveQueue *create_shared_receive_queue(ProtectionDomain domain,
                                                    std::uint32_t requests_max,
                                                    std::uint32_t slices_max, void *cookie);
    // Null with errno EINVAL where `init` makes no sense, EEXIST where its number is taken.
    QueuePair *create_queue_pair(const QueuePairInit& init);
    // 0, or EBUSY while queue pairs use it.
    int destroy(CompletionQueue *queue);
    int destroy(SharedReceiveQueue *queue);
    int destroy(QueuePair *queue_pair);
    QueuePair *find(std::uint32_t number);
    // In the order of their numbers.
    std::vector<const QueuePair *> queue_pairs() const;

    // A datagram (the payload of UDP) came in. The bytes are not needed after the call.
    void on_packet(std::span<const std::byte> datagram, const Arrival& from, Nanoseconds now);

    // Writes the next datagrams into `buffer`, which has room for one of 4096 + 96 bytes at least.
    std::optional<Transmission> poll_transmit(Nanoseconds now, std::span<std::byte> buffer,
                                              std::size_t segments_max);
    // The same without copying large payloads: what is to be sent is `pieces`, in the buffer and in
    // memory of the program.
    std::optional<Transmission> poll_transmit(Nanoseconds now, std::span<std::byte> buffer,
                                              std::size_t segments_max, Pieces& pieces);

    // Nothing more has arrived, and the program has nothing to say now: answers that wait for
    // company go alone.
    void on_lull();

    // When on_deadline() is to be called; `never` if nothing waits for time.
    Nanoseconds next_deadline();
    void on_deadline(Nanoseconds now);

    // The carrier came or went. Queue pairs armed to leave the port leave it at once.
    void on_port_state(std::uint8_t port, PortState state);
    // The address of a port changed; paths that start at `from` start at `to` henceforth.
    void on_address_change(std::uint8_t port, const Address& from, const Address& to);
    PortState port_state(std::uint8_t port) const;

    std::optional<Event> poll_event();
    const PortCounters& counters(std::uint8_t port) const;

  private:
    std::optional<Transmission> transmit(Nanoseconds now, Batch batch, std::size_t segments_max);

    std::unique_ptr<DeviceParts> parts_;
};

}  // namespace lanewise::verbs
