// SPDX-License-Identifier: BSD-3-Clause
//
// The send requests of a program's queue pair that have not ended, in order. The log outlives the
// hardware's queue pairs that carry it, one after the other, and decides what is sent again.
//
// Each request becomes messages of the hardware: a send becomes frames (frame.hpp) that fit into
// the receives of the peer, a write becomes a write with immediate data, and a write with immediate
// data of the program becomes such a write and a frame that announces it. So every message that has
// an effect at the peer also consumes a receive there, and both ends number these messages alike by
// counting. Reads have no number: reading again does no harm.
//
// When the hardware's queue pair has failed, its peer in the error state takes nothing any more,
// and says how many messages it has received. Those were executed, and all others were not. The log
// ends the former and sends the latter on the next queue pair: nothing is lost, nothing comes
// twice. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace lanewise::paths::carried {

enum class Operation : std::uint8_t {
    send,
    write,
    announced_write,  // with immediate data
    read,
    compare_swap,
    fetch_add,
    result,  // of an atomic operation of the peer; not a request of the program
};

constexpr bool is_atomic(Operation operation) {
    return operation == Operation::compare_swap || operation == Operation::fetch_add;
}

struct Piece {
    std::uint64_t address = 0;
    std::uint32_t length_bytes = 0;
    std::uint32_t key = 0;  // of the program's device; 0 if `own`
    bool own = false;       // memory of the carrier, not of the program
};

struct Request {
    std::uint64_t id = 0;
    Operation operation = Operation::send;
    bool signaled = false;
    bool solicited = false;
    bool fenced = false;
    bool has_immediate = false;
    std::uint8_t refusal = 0;  // of a result: the flag that says why there is none
    std::uint32_t immediate = 0;
    std::uint32_t length_bytes = 0;
    std::vector<Piece> pieces;
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint64_t compare_add = 0;  // of a result: the value
    std::uint64_t swap = 0;
};

// What the hardware is to do next.
struct Message {
    enum class Kind : std::uint8_t { frame, write, read };
    Kind kind = Kind::frame;
    const Request *request = nullptr;
    std::uint64_t number = 0;        // 0 for a read
    std::uint32_t offset_bytes = 0;  // of the part of a send that a frame carries
    std::uint32_t length_bytes = 0;
    bool is_last = true;
};

class SendLog {
  public:
    explicit SendLog(std::uint32_t payload_bytes) : payload_bytes_(payload_bytes) {}

    void add(Request request);
    // None if all is on its way, or waits for a read or an atomic that it must not overtake.
    std::optional<Message> next() const;
    // The message that next() returned is on its way.
    void on_posted();
    // The hardware has done the oldest message on its way.
    void on_done();
    bool awaits_result() const { return unanswered_ > 0; }
    // The request that the next result is for; null if there is none.
    const Request *awaiting_result() const;
    void on_result();
    // The oldest request, if it has ended.
    std::optional<Request> take_ended();
    // The request whose message is the oldest on its way, or that the next result is for: how many
    // were taken, or will be, before it.
    std::uint64_t place_on_its_way() const {
        return in_flight_.empty() ? taken_ : in_flight_.front();
    }
    std::uint64_t place_awaiting_result() const;
    std::uint64_t taken() const { return taken_; }
    // The oldest request, ended or not; none if the log is empty.
    std::optional<Request> take_failed();
    // The queue pair that carried messages has failed, and the peer has received `received` of them
    // in all. False where this cannot be.
    bool restart(std::uint64_t received);

    bool empty() const { return entries_.empty(); }
    // Requests of the program.
    std::size_t requests() const { return entries_.size() - results_; }
    std::size_t on_their_way() const { return in_flight_.size(); }

  private:
    struct Entry {
        Request request;
        std::uint64_t first_number = 0;
        std::uint32_t messages = 1;
        std::uint32_t posted = 0;
        std::uint32_t done = 0;
        bool has_result = false;
    };
    std::uint32_t messages_of(const Request& request) const;
    void insert_result(Entry result);
    static bool has_ended(const Entry& entry);
    bool may_start(std::uint64_t ordinal) const;
    const Entry& at(std::uint64_t ordinal) const { return entries_[ordinal - taken_]; }
    Entry& at(std::uint64_t ordinal) { return entries_[ordinal - taken_]; }
    Request take_first();

    std::uint32_t payload_bytes_;
    std::deque<Entry> entries_;
    std::uint64_t taken_ = 0;   // entries that have been taken: the ordinal of the first
    std::uint64_t cursor_ = 0;  // the ordinal of the first that has messages to be posted
    std::uint64_t last_number_ = 0;
    std::size_t results_ = 0;
    std::size_t unanswered_ = 0;           // atomics without a result
    std::deque<std::uint64_t> in_flight_;  // ordinals, one for each message on its way
};

}  // namespace lanewise::paths::carried
