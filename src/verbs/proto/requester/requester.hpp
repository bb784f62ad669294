// SPDX-License-Identifier: BSD-3-Clause
//
// The requester: sends posted work in order, and retransmits (IBA 1, 9.7). Packets get their
// sequence numbers when work is posted. Three numbers are its state: `unacked_`, the oldest packet
// that is not acknowledged, `cursor_`, the next to send, and `highest_`, one past the last that was
// ever sent. Going back sets the cursor back.
// A packet that the peer lacks is sent again beside the cursor (gap.hpp).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/queues/completion_queue.hpp"
#include "verbs/proto/queues/ring.hpp"
#include "verbs/proto/queues/work_request.hpp"
#include "verbs/proto/requester/gap.hpp"
#include "verbs/proto/requester/path_capacity.hpp"
#include "verbs/proto/requester/rtt_estimator.hpp"
#include "verbs/proto/requester/send_entry.hpp"
#include "verbs/proto/requester/window.hpp"
#include "verbs/proto/wire/batch.hpp"

namespace lanewise::verbs {

class Requester {
  public:
    explicit Requester(Connection& connection) : connection_(connection) {}

    int post(const SendRequest& request);
    // What post() would return if `before` other requests had been posted first.
    int check(const SendRequest& request, std::size_t before) const;
    void start(Psn first);
    void reset();
    // Completes what is left as flushed.
    void flush();

    // What would be sent next, if there is anything; write_next() then writes just that up to its
    // ICRC, or fails if the memory of the request is not accessible.
    bool peek(NextPacket& next);
    bool write_next(Batch& batch, Nanoseconds now);
    // Executes the requests that send nothing and come next, each after all before it have been
    // sent; it completes in its turn. True if there were any.
    bool do_local_work();

    // Whether the peer can have sent this response now, or not long ago.
    bool is_plausible(const Packet& response) const;
    void on_response(const Packet& packet, Nanoseconds now);

    Nanoseconds deadline() const;
    void on_deadline(Nanoseconds now);

    // The path has changed: everything that is not acknowledged is sent again with all retries, and
    // what was measured is forgotten.
    void on_other_path();
    // 0 while none is known.
    Nanoseconds round_trip_ns() const { return rtt_.mean_ns(); }
    // Whether nothing is in flight.
    bool idle() const { return unacked_ == highest_; }
    // Whether, beyond that, no message has been sent in part: what a drained send queue requires.
    bool is_between_messages() const {
        return idle() && (entries_.empty() || !before(entries_.front().first, unacked_));
    }
    bool empty() const { return entries_.empty(); }
    // Whether there is work that was not sent, or is to be sent again.
    bool has_unsent() const { return cursor_entry_ < entries_.size() || retransmission_; }
    // Whether what was posted last may wait for more: packets are in flight, and what waits does
    // not fill a batch.
    bool gathers() const;

  private:
    struct Plan {
        std::size_t entry = 0;
        std::uint32_t index = 0;    // which packet of the entry
        std::uint32_t packets = 1;  // how many numbers it takes
        std::uint32_t payload_bytes = 0;
        PacketKind kind = PacketKind::send;
        Part part = Part::only;
        Extra extra = Extra::nothing;
        bool again = false;  // a retransmission beside the cursor
        bool asks = false;   // for an acknowledgement
    };

    // The oldest packet, sent again because no response came.
    struct Probe {
        Psn psn;
        Psn cursor;
        Nanoseconds sent = 0;  // the first of them
        bool of_gap = false;   // the peer had said that it lacks the packet
        unsigned copies = 1;
    };

    // sending
    std::optional<Plan> plan() const;
    Plan plan_at(std::size_t entry, Psn psn) const;
    bool may_begin(const SendEntry& entry, const Plan& plan) const;
    // What the packets of a plan count for in the window, each.
    std::size_t window_payload_bytes(const Plan& plan) const;
    bool fits_window(const Plan& plan) const;
    bool needs_ack(const SendEntry& entry) const;
    Packet packet_of(const SendEntry& entry, const Plan& plan) const;
    Status fill(const SendEntry& entry, const Plan& plan, Batch& batch) const;
    bool may_begin_local(const SendEntry& entry) const;
    bool change_window(const SendEntry& entry);
    void sent(const Plan& plan, Nanoseconds now);
    void sent_again(const Plan& plan, Nanoseconds now);
    std::uint32_t read_packets() const;
    std::uint32_t messages_of(const SendEntry& entry) const;

    // responses
    void on_acknowledge(const Packet& packet, Nanoseconds now);
    void on_read_data(const Packet& packet, Nanoseconds now);
    void on_atomic_data(const Packet& packet, Nanoseconds now);
    bool acknowledge_before(Psn psn, Nanoseconds now);
    void advance_to(Psn psn, Nanoseconds now);
    void take_credits(const AckHeader& ack);
    void on_nak(NakCode code, Nanoseconds now);
    void on_gap_filled(Psn acknowledged);
    void on_probe_answered(const Probe& probe, const Packet& response, Nanoseconds now);
    void on_receiver_not_ready(std::uint8_t timer, Nanoseconds now);
    void complete_front(Status status);
    void fail_front(Status status);

    // retransmission
    void go_back();
    bool use_retry(Nanoseconds now);
    void retry(Nanoseconds now);
    void retry_once(Nanoseconds now);
    void retransmit_gap(Nanoseconds now);
    void retransmit(std::uint32_t packets);
    std::uint32_t gap_packets() const;
    void on_loss();
    std::uint32_t window_bytes_kept() const;
    // Leaves the path for a cause, or fails if it cannot be left.
    void give_up(MigrationCause cause);
    void fail();
    void restart_timers(Nanoseconds now);
    void stop_timers();
    void on_timeout(Nanoseconds now);
    bool is_retry_window_over(Nanoseconds now);

    Connection& connection_;
    Ring<SendEntry> entries_;
    std::size_t cursor_entry_ = 0;  // the entry that the cursor is in
    Psn unacked_;
    Psn cursor_;
    Psn highest_;
    Psn next_;                       // for the next entry posted
    Ring<Psn> reads_;                // the last number of each read or atomic in flight
    std::uint32_t unrequested_ = 0;  // packets since one that asked for an acknowledgement
    Psn requested_;                  // one past the last that did

    Window window_;
    RttEstimator rtt_;
    PathCapacity capacity_;
    // What is to be sent again beside the cursor.
    struct Retransmission {
        Psn next;
        Psn end;
        std::size_t entry = 0;  // the one that `next` is in
        bool is_probe = false;
    };
    std::optional<Retransmission> retransmission_;
    Gap gap_;

    std::uint32_t sequence_ = 0;
    std::uint32_t credit_limit_ = 0;
    bool credits_unlimited_ = false;

    std::uint8_t retries_left_ = 0;
    std::uint8_t rnr_retries_left_ = 0;
    std::optional<Psn> went_back_to_;  // so that one gap makes the requester go back once
    Nanoseconds heard_at_ = 0;         // when the peer last answered, or had nothing to answer
    Nanoseconds timeout_at_ = never;
    Nanoseconds retry_window_end_ = never;
    Nanoseconds rnr_until_ = never;
    Nanoseconds probe_at_ = never;
    std::optional<Probe> probe_;  // that nothing has answered
    // Whether the answer to a probe left something in flight, of which nothing is acknowledged yet.
    bool answered_in_part_ = false;
    Status local_error_ =
        Status::success;  // of the entry at the cursor; completed when that is the first
};

}  // namespace lanewise::verbs
