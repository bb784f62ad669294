// SPDX-License-Identifier: BSD-3-Clause
//
// The requester: sends what the program posted, in order, and again from the first packet that the
// peer lacks (IBA 1, 9.7). Numbers are given to packets when work is posted. Three of
// them say it all: `unacked_`, the oldest that the peer has not answered, `cursor_`, the next to
// send, and `highest_`, one past the last that was ever sent. To go back is to set the cursor back.
//
// A peer may keep what came too early, as ours does, or drop it, as the standard expects. So the
// packet that a peer misses goes again alone at first. Where the answer shows that what was behind
// it had been dropped, the requester goes back for the rest, and always from then on.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/queues/completion.hpp"
#include "verbs/proto/queues/ring.hpp"
#include "verbs/proto/queues/work_request.hpp"
#include "verbs/proto/requester/round_trip.hpp"
#include "verbs/proto/requester/window.hpp"
#include "verbs/proto/wire/batch.hpp"

namespace lanewise::verbs {

struct SendEntry {
    std::uint64_t id = 0;
    Operation operation = Operation::send;
    std::uint32_t flags = 0;
    std::uint32_t immediate = 0;
    std::uint32_t rkey = 0;
    std::uint64_t remote_address = 0;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
    AddressVector address;
    std::vector<Slice> slices;
    std::vector<std::byte> inline_bytes;
    std::uint64_t length_bytes = 0;
    Psn first;
    std::uint32_t packets = 1;
    std::uint32_t sequence = 0;  // counts messages as the peer does, for credits

    Psn last() const { return first + (packets - 1); }
    bool is_read() const { return operation == Operation::read; }
    bool is_atomic() const { return operation >= Operation::compare_swap; }
    bool awaits_data() const { return is_read() || is_atomic(); }
    bool takes_receive() const {
        return operation == Operation::send || operation == Operation::send_immediate ||
               operation == Operation::write_immediate;
    }
};

// A packet about to be sent.
struct Outgoing {
    std::size_t bytes = 0;
    const AddressVector *to = nullptr;
};

class Requester {
  public:
    explicit Requester(Connection& connection) : connection_(connection) {}

    int post(const SendRequest& request);
    void start(Psn first);
    void forget_everything();
    // Completes what is left as flushed.
    void flush();

    // What would go next; write_next() then writes just that up to its ICRC, or fails where the
    // memory of the request turns out to be forbidden.
    std::optional<Outgoing> peek();
    bool write_next(Batch& batch, Nanoseconds now);

    void on_response(const Packet& packet, Nanoseconds now);

    Nanoseconds deadline() const;
    void on_deadline(Nanoseconds now);

    // Sends again all that is not answered, because the path is another one.
    void go_back();
    // Whether nothing is under way, as a drained send queue wants it.
    bool idle() const { return unacked_ == highest_; }
    bool empty() const { return entries_.empty(); }
    // Whether what was posted last may wait for more: some is under way, and what waits does not
    // fill a batch.
    bool gathers() const;

  private:
    struct Plan {
        std::size_t entry = 0;
        std::uint32_t index = 0;    // which packet of the entry
        std::uint32_t packets = 1;  // how many numbers it takes
        std::uint32_t payload_bytes = 0;
        Kind kind = Kind::send;
        Part part = Part::only;
        bool immediate = false;
        bool probe = false;
    };

    // sending (requester.cpp)
    std::optional<Plan> plan() const;
    Plan plan_at(std::size_t entry, Psn psn) const;
    bool may_begin(const SendEntry& entry, const Plan& plan) const;
    bool fits_window(const Plan& plan) const;
    Packet packet_of(const SendEntry& entry, const Plan& plan) const;
    Status fill(const SendEntry& entry, const Plan& plan, Batch& batch) const;
    void sent(const Plan& plan, Nanoseconds now);
    std::uint32_t read_packets() const;
    std::uint32_t messages_of(const SendEntry& entry) const;

    // answers (answers.cpp)
    void on_acknowledge(const Packet& packet, Nanoseconds now);
    void on_read_data(const Packet& packet, Nanoseconds now);
    void on_atomic_data(const Packet& packet, Nanoseconds now);
    bool acknowledge_before(Psn psn, Nanoseconds now);
    void advance_to(Psn psn, Nanoseconds now);
    void take_credits(const AckHeader& ack);
    void on_nak(NakCode code);
    void on_gap_filled(Psn answered);
    void on_receiver_not_ready(std::uint8_t timer, Nanoseconds now);
    void complete_front(Status status);
    void fail_front(Status status);

    // going back (retry.cpp)
    void retry();
    void retry_once();
    void send_missing_again();
    void exhausted(Status status);
    void restart_timers(Nanoseconds now);
    void stop_timers();
    void stay_patient(Nanoseconds now);

    Connection& connection_;
    Ring<SendEntry> entries_;
    std::size_t cursor_entry_ = 0;  // the entry that the cursor is in
    Psn unacked_;
    Psn cursor_;
    Psn highest_;
    Psn next_;                       // for the next entry posted
    Ring<Psn> reads_;                // the last number of each read or atomic that is under way
    std::uint32_t unrequested_ = 0;  // packets since one that asked for an acknowledgement

    Window window_;
    RoundTrip round_trip_;
    // A packet that was sent again alone, and what was under way then.
    struct Mended {
        Psn psn;
        Psn cursor;
        unsigned alone = 0;  // how many in a row were answered alone
    };
    std::optional<Mended> mended_;
    bool peer_drops_early_ = false;

    std::uint32_t sequence_ = 0;
    std::uint32_t credit_limit_ = 0;
    bool credits_unlimited_ = false;

    std::uint8_t retries_left_ = 0;
    std::uint8_t rnr_retries_left_ = 0;
    std::optional<Psn> went_back_to_;  // so that one gap makes the requester go back once
    Nanoseconds timeout_at_ = never;
    Nanoseconds patient_until_ = never;
    Nanoseconds rnr_until_ = never;
    Nanoseconds probe_at_ = never;
    unsigned probes_ = 0;  // since the last answer
    bool probe_wanted_ = false;
    Status local_error_ = Status::success;  // of the entry at the cursor; told when it is in front
};

}  // namespace lanewise::verbs
