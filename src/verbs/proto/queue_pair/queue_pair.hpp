// SPDX-License-Identifier: BSD-3-Clause
//
// A queue pair. A program posts work to it, modifies and queries it; the device brings packets and
// time, and asks for what is to be sent. The requester handles sends and the responses to them, the
// responder what the peer requests, and connection/migration.hpp the paths.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "verbs/proto/congestion/rate_control.hpp"
#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/connection/copy_filter.hpp"
#include "verbs/proto/connection/counters.hpp"
#include "verbs/proto/connection/scheduler.hpp"
#include "verbs/proto/queues/work_request.hpp"
#include "verbs/proto/requester/requester.hpp"
#include "verbs/proto/responder/responder.hpp"
#include "verbs/proto/wire/batch.hpp"

namespace lanewise::verbs {

class QueuePair {
  public:
    QueuePair(DeviceContext& device, const QueuePairInit& init);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    // 0, or EINVAL (state, operation, flags, slices), ENOMEM (queue full).
    int post_send(const SendRequest& request);
    // What post_send() would return if `before` other requests had been posted first.
    int check_send(const SendRequest& request, std::size_t before) const {
        return requester_.check(request, before);
    }
    int post_receive(const ReceiveRequest& request);
    // Whether posted requests may wait for more to be sent with them: others are in flight, those
    // that wait do not fill a batch, and they are no answer to a message that has just come.
    bool gathers() const { return !answers_ && requester_.gathers(); }

    // 0, or EINVAL, and then nothing has changed (ibv_modify_qp(3)). `mask` is of Attribute.
    int modify(const Attributes& wanted, std::uint32_t mask);
    Attributes query() const;

    const QueuePairInit& init() const { return connection_.init; }
    std::uint32_t number() const { return init().number; }
    State state() const { return connection_.state(); }
    bool receives() const { return connection_.receives(); }
    const QueuePairCounters& counters() const { return connection_.counters; }
    // Why the n-th migration took place (connection/migration.hpp).
    MigrationCause cause_of_migration(std::uint64_t number) const;

    // The rest is for the device.

    // A packet for this queue pair, intact and from a port of the device.
    void on_packet(const Packet& packet, const Arrival& from, Nanoseconds now);
    std::optional<Transmission> transmit(Batch& batch, std::size_t segments_max, Nanoseconds now);
    void on_deadline(Nanoseconds now);
    // As far as it is in use at all.
    void fail();
    void on_port_down(std::uint8_t port);
    void on_port_up(std::uint8_t port);
    void on_address_change(std::uint8_t port, const Address& from, const Address& to);
    void send_delayed_ack();
    // Until when the peer may ask for the last acknowledgement again; 0 where nothing was received
    // that it could ask for, or where packets between the two are never lost.
    Nanoseconds time_wait_ends_at() const;
    // Leaves the last acknowledgement with the device, since this queue pair will not send it
    // again.
    void leave_last_acknowledgement() const;
    const ScheduleSlot& schedule_slot() const { return slot_; }
    const RateControl& rate() const { return rate_; }

  private:
    bool has_valid_values(const Attributes& wanted, std::uint32_t mask) const;
    void take_values(const Attributes& wanted, std::uint32_t mask);
    void reset();
    void change_migration_state(Migration wanted);
    void enter(State from, State to);
    bool is_plausible(const Packet& packet);
    // For datagrams, which may come over the other port: the arrival as it would be on the own one.
    std::optional<Arrival> at_own_port(const Arrival& from) const;
    void take_datagram(const Packet& packet, const Arrival& from, Nanoseconds now);
    void count_received(const Packet& packet);
    void on_marked(const Packet& packet, const Arrival& from, Nanoseconds now);
    void on_notification(const Arrival& from, Nanoseconds now);
    std::optional<Transmission> transmit_notification(Batch& batch);
    // What may leave now: a response, a request, or nothing. Where the rate is limited, `turn_at_`
    // says when it may.
    enum class Turn : std::uint8_t { none, response, request };
    Turn take_turn(NextPacket& next, Nanoseconds now);
    void send_copies(const AddressVector& to, const Transmission& run, const Batch& batch);
    // Leaves the primary path at once; unacknowledged packets are sent again on the other one.
    void leave_path(MigrationCause cause);
    void ask_peer();
    void schedule_announcement(Nanoseconds now);
    void schedule_question(Nanoseconds now);
    void on_question(const Arrival& from, Nanoseconds now);
    // Does what follows from the state that the last call left: flushes queues, reports events,
    // updates the scheduler. Every call that changes something ends with it.
    void settle();
    void set_deadline();

    Connection connection_;
    Requester requester_;
    Responder responder_;
    ScheduleSlot slot_;
    bool answers_ = false;  // what is posted next: a message has come since the last one left
    bool requested_in_memory_ = false;  // the last request came so, and so would its repetition
    bool flushed_ = false;
    bool drained_reported_ = false;
    CopyFilter copy_filter_;
    // After a migration it is announced to the peer, again and again, until that has followed.
    bool announces_ = false;
    unsigned announced_ = 0;
    Nanoseconds announce_at_ = never;
    // How often the peer has been asked on the alternate path, and when it is asked again.
    unsigned asked_ = 0;
    Nanoseconds ask_at_ = never;
    // Congestion: of what this queue pair sends, and of what it receives.
    RateControl rate_;
    Nanoseconds turn_at_ = never;  // when what waits for its turn may leave
    MarkReport mark_report_;
    struct Notification {
        AddressVector to;
        std::uint32_t qpn = 0;
    };
    std::optional<Notification> notification_;  // to be sent
};

}  // namespace lanewise::verbs
