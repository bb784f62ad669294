// SPDX-License-Identifier: BSD-3-Clause
//
// The responder: does what the peer asks for, once and in order, and answers (IBA 1, 9.7, 9.8 and
// 9.9). Of a reliable connection every number is waited for; what lies ahead is told of once and
// kept, as far as there is room, what lies behind is answered again. Reads and atomics that were
// done are remembered, as many as the peer may have under way, so that a lost answer can be given
// again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/queues/receive_queue.hpp"
#include "verbs/proto/queues/ring.hpp"
#include "verbs/proto/requester/requester.hpp"
#include "verbs/proto/responder/early.hpp"
#include "verbs/proto/wire/batch.hpp"

namespace lanewise::verbs {

class Responder {
  public:
    explicit Responder(Connection& connection);

    int post(const ReceiveRequest& request);
    void start(Psn expected);
    void forget_everything();
    // Completes what is left as flushed. Answers that wait are dropped, unless the queue pair
    // failed by what the peer asked for: then it is told, after all that was answered before.
    void flush();

    std::optional<Outgoing> peek() const;
    // False where the memory has been taken back since.
    bool write_next(Batch& batch);

    void on_request(const Packet& packet, Nanoseconds now);
    void on_unreliable(const Packet& packet);
    void on_datagram(const Packet& packet, const Arrival& from);

    // An acknowledgement may wait for company until the deadline, or until it is told to hurry.
    bool waits() const;
    void hurry() { waits_until_ = never; }
    Nanoseconds deadline() const { return std::min(waits() ? waits_until_ : never, missed_until_); }
    void on_deadline(Nanoseconds now);

    // Tells the peer where it is, unasked: it may not know that the path is another one.
    void announce();
    // The number that the next new request has.
    Psn expected() const { return expected_; }

  private:
    // The message that is coming in.
    struct Assembly {
        Kind kind = Kind::unknown;  // unknown between messages
        std::uint64_t offset = 0;
        RdmaHeader rdma;
    };
    // A read or atomic that was done.
    struct Done {
        bool is_read = false;
        Psn first;
        std::uint32_t packets = 1;
        std::uint64_t result = 0;
    };
    // What waits to be sent.
    struct Answer {
        Kind kind = Kind::acknowledge;
        Psn psn;
        std::uint32_t msn = 0;
        std::uint8_t syndrome = 0;  // of an acknowledgement that is none
        bool again = false;
        RdmaHeader rdma = {};  // of a read
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

    // requests of all transports (responder.cpp)
    Verdict execute(const Packet& packet);
    bool in_sequence(const Packet& packet) const;
    bool has_right_length(const Packet& packet) const;
    Verdict take_send(const Packet& packet);
    Verdict take_write(const Packet& packet);
    bool obtain_receive();
    void complete_receive(const Packet& packet, std::uint32_t length_bytes);
    void fail_receive(Status status);

    // answers of a reliable connection (reliable.cpp)
    void refuse(Verdict verdict, Psn psn);
    static bool is_plain(const Answer& answer) {
        return answer.kind == Kind::acknowledge && answer.syndrome == 0;
    }
    void acknowledge(Psn psn);
    void acknowledge_in_company(Psn psn, Nanoseconds now);
    bool accept(const Packet& packet, Nanoseconds now);
    void accept_early(Nanoseconds now);
    void on_early(const Packet& packet, Nanoseconds now);
    void tell_gap();
    void close_gap();
    void push_nak(Psn psn, std::uint8_t code);
    Verdict take_read(const Packet& packet);
    Verdict take_atomic(const Packet& packet);
    void repeat(const Packet& packet);
    void repeat_read(const Packet& packet, const Done& done);
    bool remember(const Done& done);
    void insert_again(Answer answer);
    std::uint32_t read_packets(std::uint64_t length_bytes) const;
    Part part_of(const Answer& answer) const;
    std::size_t payload_bytes(const Answer& answer) const;
    std::uint8_t positive_syndrome() const;
    bool write_data(const Answer& answer, std::size_t bytes, Batch& batch) const;

    Connection& connection_;
    ReceiveQueue queue_;
    ReceiveEntry receive_;  // of the message that is coming in
    bool has_receive_ = false;

    Psn expected_;
    std::uint32_t msn_ = 0;
    bool gap_told_ = false;
    Nanoseconds missed_until_ = never;  // when the peer is told of a gap that is still there
    EarlyPackets early_;
    Assembly assembly_;
    Ring<Done> done_;
    std::vector<Answer> answers_;
    Nanoseconds waits_until_ = never;  // never: for nothing
    std::uint32_t untold_bytes_ = 0;   // that came since an answer was sent
    bool parting_ = false;
};

}  // namespace lanewise::verbs
