// SPDX-License-Identifier: BSD-3-Clause
//
// The responder: executes the peer's requests, each once and in order, and responds (IBA 1, 9.7,
// 9.8 and 9.9). On a reliable connection no sequence number is skipped: a packet ahead of the
// expected one is reported once by a NAK and buffered if there is room; one behind it is
// acknowledged again. If a packet that was reported as missing comes twice, it was only late, and
// an acknowledgement with its number, which other requesters ignore, says so. Executed reads and
// atomics are remembered, as many as the peer may have outstanding, so that a lost response can be
// repeated, but not until their numbers come again.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/connection/migration.hpp"
#include "verbs/proto/queues/receive_queue.hpp"
#include "verbs/proto/queues/ring.hpp"
#include "verbs/proto/responder/reassembly.hpp"
#include "verbs/proto/wire/batch.hpp"

namespace lanewise::verbs {

class Responder {
  public:
    explicit Responder(Connection& connection);

    int post(const ReceiveRequest& request);
    void start(Psn expected);
    void reset();
    // Completes what is left as flushed. Pending responses are dropped, unless a request of the
    // peer made the queue pair fail: then they are sent, and the NAK that says so last.
    void flush();

    // False if there is nothing to send.
    bool peek(NextPacket& next) const;
    // False if the memory has been deregistered since.
    bool write_next(Batch& batch);

    // Whether the peer of an unreliable connection can be at this number. Where two numbers follow
    // each other far away, it is there now (as in RTP, RFC 3550 A.1).
    bool finds_near(Psn psn);
    void on_request(const Packet& packet, Nanoseconds now);
    void on_unreliable(const Packet& packet);
    void on_datagram(const Packet& packet, const Arrival& from);

    bool has_responses() const { return !responses_.empty(); }
    // Whether the only response is an acknowledgement that may wait, until the deadline or until
    // the delay is cancelled, for data that it can leave with.
    bool delays_ack() const;
    void cancel_ack_delay() { ack_due_at_ = never; }
    Nanoseconds deadline() const {
        return std::min({delays_ack() ? ack_due_at_ : never, nak_due_at_, lazy_ack_at_});
    }
    void on_deadline(Nanoseconds now);

    // Sends an unsolicited acknowledgement, from which the peer learns that the path has changed.
    void announce();
    // Sends an acknowledgement that asks the peer for an answer on the same path, or is one.
    void send_probe(Probe kind);
    // The sequence number of the next new request.
    Psn expected() const { return expected_; }
    // When the last new request was executed; 0 if there was none.
    Nanoseconds served_at() const { return served_at_; }
    // Of all requests so far.
    Packet acknowledgement() const;

  private:
    // The message that is being received.
    struct Assembly {
        PacketKind kind = PacketKind::unknown;  // unknown between messages
        std::uint64_t offset = 0;
        RdmaHeader rdma;
        std::uint32_t srqn = 0;
    };
    // A read or atomic that was executed.
    struct RecentRequest {
        bool is_read = false;
        Psn first;
        std::uint32_t packets = 1;
        std::uint64_t result = 0;
    };
    // A response to be sent.
    struct Response {
        PacketKind kind = PacketKind::acknowledge;
        Psn psn;
        std::uint32_t msn = 0;
        std::uint8_t syndrome = 0;  // of a NAK; 0 for an acknowledgement
        bool repeated = false;
        bool of_late_packet = false;  // an acknowledgement of a packet that arrived twice
        Probe probe = Probe::none;
        std::uint32_t srqn = 0;  // that the request named
        RdmaHeader rdma = {};    // of a read
        std::uint32_t index = 0;
        std::uint32_t packets = 1;
        std::uint64_t result = 0;
    };
    enum class Verdict : std::uint8_t {
        done,
        not_ready,
        invalid,
        access,
        too_long,
        local,
    };

    // requests of all transports
    Verdict execute(const Packet& packet);
    bool in_sequence(const Packet& packet) const;
    bool has_right_length(const Packet& packet) const;
    Verdict take_send(const Packet& packet);
    Verdict take_write(const Packet& packet);
    std::byte *memory_of_peer(std::uint32_t srqn, std::uint32_t rkey, std::uint64_t address,
                              std::uint64_t length_bytes, std::uint32_t access) const;
    SharedReceiveQueue *shared_queue(std::uint32_t srqn) const;
    Accessor accessor(std::uint32_t srqn) const;
    CompletionQueue *completions() const;
    bool obtain_receive(std::uint32_t srqn);
    void complete_receive(const Packet& packet, std::uint32_t length_bytes);
    void fail_receive(Status status);

    // reliable connections
    void refuse(Verdict verdict, Psn psn);
    static bool is_plain(const Response& response) {
        return response.kind == PacketKind::acknowledge && response.syndrome == 0 &&
               !response.of_late_packet && response.probe == Probe::none;
    }
    void acknowledge(Psn psn);
    void acknowledge_delayed(Psn psn, Nanoseconds now);
    void acknowledge_lazily(Psn psn, Nanoseconds now);
    bool accept(const Packet& packet, Nanoseconds now);
    void accept_buffered(Nanoseconds now);
    void on_out_of_order(const Packet& packet, Nanoseconds now);
    void send_sequence_nak();
    void reset_reassembly();
    void push_nak(Psn psn, std::uint8_t code);
    Verdict take_read(const Packet& packet);
    Verdict take_atomic(const Packet& packet);
    void report_late(Psn psn);
    void repeat(const Packet& packet);
    void repeat_read(const Packet& packet, const RecentRequest& request);
    bool remember(const RecentRequest& request);
    void forget_old();
    std::vector<Response>::iterator unsent_response_to(const RecentRequest& request);
    void insert_repeated(Response response);
    std::uint32_t read_packets(std::uint64_t length_bytes) const;
    Part part_of(const Response& response) const;
    std::size_t payload_bytes(const Response& response) const;
    std::uint8_t positive_syndrome() const;
    bool write_data(const Response& response, std::size_t bytes, Batch& batch) const;

    Connection& connection_;
    ReceiveQueue queue_;
    ReceiveEntry receive_;  // of the message that is being received
    bool has_receive_ = false;
    std::uint32_t receive_srqn_ = 0;  // where it is from

    Psn expected_;
    Nanoseconds served_at_ = 0;
    std::uint32_t msn_ = 0;
    bool sequence_nak_sent_ = false;
    Nanoseconds nak_due_at_ = never;  // when a NAK reports a packet that is still missing
    std::array<std::optional<Psn>, 8> reported_missing_;  // the last ones
    std::size_t last_reported_ = 0;
    ReassemblyBuffer reassembly_;
    unsigned unfilled_in_a_row_ = 0;    // packets accepted that no buffered one followed
    std::optional<Psn> seen_far_away_;  // of an unreliable connection
    Assembly assembly_;
    Ring<RecentRequest> recent_;
    std::vector<Response> responses_;
    Nanoseconds ack_due_at_ = never;          // of a delayed acknowledgement
    Nanoseconds lazy_ack_at_ = never;         // of messages for which the peer asked for none
    std::uint32_t unacknowledged_bytes_ = 0;  // received since the last response
    bool final_nak_pending_ = false;
};

}  // namespace lanewise::verbs
