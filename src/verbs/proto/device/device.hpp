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
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/connection/device_context.hpp"
#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/queue_pair/queue_pair.hpp"
#include "verbs/proto/queues/completion_queue.hpp"
#include "verbs/proto/queues/event.hpp"
#include "verbs/proto/queues/receive_queue.hpp"
#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/batch.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

class Device {
  public:
    // Without `origin_of` the UDP port is that of the address, and the identification 0.
    explicit Device(const DeviceConfig& config, OriginOf origin_of = {});
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const DeviceConfig& config() const { return context_.config; }
    MemoryTable& memory() { return context_.memory; }

    // Objects live until they are destroyed or the device is. `cookie` is the border's own.
    CompletionQueue *create_completion_queue(std::uint32_t capacity, void *cookie);
    SharedReceiveQueue *create_shared_receive_queue(ProtectionDomain domain,
                                                    std::uint32_t requests_max,
                                                    std::uint32_t slices_max, void *cookie);
    // One that extended connections receive into. Null with errno EEXIST where its number is taken.
    SharedReceiveQueue *create_extended_receive_queue(const ExtendedReceive& extended,
                                                      ProtectionDomain domain,
                                                      std::uint32_t requests_max,
                                                      std::uint32_t slices_max, void *cookie);
    // Null with errno EINVAL where `init` makes no sense, EEXIST where its number is taken.
    QueuePair *create_queue_pair(const QueuePairInit& init);
    // 0, or EBUSY while queue pairs use it.
    int destroy(CompletionQueue *queue);
    int destroy(SharedReceiveQueue *queue);
    int destroy(QueuePair *queue_pair);
    QueuePair *find(std::uint32_t number);
    // From now on datagrams to the group reach the queue pair as well: 0, or EINVAL where it is not
    // one for datagrams. Attaching twice is attaching once.
    int attach(QueuePair *queue_pair, const Address& group);
    // 0, or EINVAL where it is not attached.
    int detach(QueuePair *queue_pair, const Address& group);
    bool has_members(const Address& group) const;
    bool is_member(const QueuePair *queue_pair) const;  // of any group
    // In the order of their numbers.
    std::vector<const QueuePair *> queue_pairs() const;

    // A datagram (the payload of UDP) came in. The bytes are not needed after the call.
    void on_packet(std::span<const std::byte> datagram, const Arrival& from, Nanoseconds now);

    // The same as if the program had posted no receive: who sent it is told to wait.
    void on_packet_without_receives(std::span<const std::byte> datagram, const Arrival& from,
                                    Nanoseconds now);
    // All queue pairs go to the error state, since the device has failed.
    void fail_all();

    // Writes the next datagrams into `buffer`, which has room for one of 4096 + 96 bytes at least.
    std::optional<Transmission> poll_transmit(Nanoseconds now, std::span<std::byte> buffer,
                                              std::size_t segments_max);

    // Nothing more has arrived, and the program has nothing to send now: delayed acknowledgements
    // become ready.
    void send_delayed_acks();

    // Sends each datagram over both ports from now on (DeviceContext::other_way).
    void send_datagrams_also(OtherWay other_way) { context_.other_way = std::move(other_way); }

    // How many completions there have been, in all queues.
    std::uint64_t completions() const { return context_.completions; }

    // Whether there is nothing to send, no delayed acknowledgement and no event.
    bool idle() const {
        return context_.scheduler.idle() && context_.copies.empty() && context_.events.empty();
    }

    // When on_deadline() is to be called; `never` if nothing waits for time.
    Nanoseconds next_deadline();
    void on_deadline(Nanoseconds now);

    // Until when a peer may ask for the last acknowledgement again, of queue pairs that are there
    // and of those that are gone.
    Nanoseconds time_wait_ends_at() const;

    // The carrier came or went. Queue pairs armed to leave the port leave it at once.
    void on_port_state(std::uint8_t port, PortState state);
    // The address of a port changed; paths that start at `from` start at `to` henceforth.
    void on_address_change(std::uint8_t port, const Address& from, const Address& to);
    PortState port_state(std::uint8_t port) const;

    // The longest datagram of UD, for queue pairs that become ready to receive from now on.
    void set_datagram_mtu(Mtu mtu) { context_.config.mtu = mtu; }

    std::optional<Event> poll_event();
    const PortCounters& counters(std::uint8_t port) const;
    // Of all queue pairs on a port together, also of those that have been destroyed.
    QueuePairCounters queue_pair_counters(std::uint8_t port) const;
    // The border could not send what poll_transmit() gave it for a port.
    void on_send_failed(std::uint8_t port) { ++context_.port(port).counters.sends_failed; }

  private:
    void on_group_packet(const Packet& packet, std::span<const std::byte> datagram,
                         const Arrival& from, Nanoseconds now);
    bool acknowledge_again(const Packet& packet, std::span<const std::byte> datagram,
                           const Arrival& from, Nanoseconds now);
    Transmission transmit(const Copies& copies, std::span<std::byte> buffer);
    void count(const Transmission& run);

    DeviceContext context_;
    std::vector<std::unique_ptr<CompletionQueue>> completion_queues_;
    std::vector<std::unique_ptr<SharedReceiveQueue>> shared_receive_queues_;
    std::unordered_map<std::uint32_t, std::unique_ptr<QueuePair>> queue_pairs_;
    std::set<std::pair<Address, std::uint32_t>> members_;  // of groups, by their numbers
    // Of queue pairs that have been destroyed, by the port that each was on last.
    std::vector<QueuePairCounters> departed_;
};

}  // namespace lanewise::verbs
