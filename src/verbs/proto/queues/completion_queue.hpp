// SPDX-License-Identifier: BSD-3-Clause
//
// A completion queue: completions in a ring, and whether the program wants to be woken. One that
// overflows reports cq_error once and takes no more, as ibv_create_cq(3) warns. Numbers are those
// of <infiniband/verbs.h>.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "verbs/proto/queues/event.hpp"
#include "verbs/proto/queues/ring.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

enum class Status : std::uint8_t {  // enum ibv_wc_status
    success = 0,
    local_length_error = 1,
    local_operation_error = 2,
    local_protection_error = 4,
    flushed = 5,
    window_bind_error = 6,
    bad_response = 7,
    remote_invalid_request = 9,
    remote_access_error = 10,
    remote_operation_error = 11,
    retry_exceeded = 12,
    rnr_retry_exceeded = 13,
    fatal_error = 17,
    general_error = 21,
};

enum class CompletedWork : std::uint8_t {  // enum ibv_wc_opcode
    send = 0,
    rdma_write = 1,
    rdma_read = 2,
    compare_swap = 3,
    fetch_add = 4,
    bind_window = 5,
    local_invalidate = 6,
    receive = 128,
    receive_rdma_with_immediate = 129,
};

struct Completion {  // struct ibv_wc
    std::uint64_t id = 0;
    Status status = Status::success;
    CompletedWork work = CompletedWork::send;
    bool has_immediate = false;
    bool has_grh = false;
    bool solicited = false;
    std::uint8_t service_level = 0;
    std::uint8_t path_bits = 0;
    std::uint16_t pkey_index = 0;
    std::uint16_t source_lid = 0;
    std::uint32_t length_bytes = 0;
    std::uint32_t immediate = 0;        // in network byte order
    std::uint32_t invalidated_key = 0;  // of the window that the peer invalidated; 0: none
    std::uint32_t qpn = 0;
    std::uint32_t source_qpn = 0;
    Nanoseconds at = 0;  // when it was added to its queue
};

enum class Wanted : std::uint8_t { nothing, solicited, any };

class CompletionQueue {
  public:
    CompletionQueue(std::uint32_t capacity, std::deque<Event>& events, void *cookie);

    // Moves up to into.size() completions out and returns how many.
    std::size_t poll(std::span<Completion> into);
    // Asks for one completion event (ibv_req_notify_cq).
    void arm(Wanted wanted);
    // EINVAL where more entries wait than would fit (ibv_resize_cq).
    int resize(std::uint32_t capacity);

    // For queue pairs. False, after reporting cq_error, where the ring is full.
    bool push(const Completion& completion, Nanoseconds now);
    // Forgets the entries of a queue pair that is being destroyed.
    void forget(std::uint32_t qpn);

    std::size_t size() const { return ring_.size(); }
    std::uint32_t capacity() const { return capacity_; }
    void *cookie() const { return cookie_; }
    std::uint32_t users = 0;  // queue pairs that complete here

  private:
    Ring<Completion> ring_;
    std::uint32_t capacity_;
    Wanted wanted_ = Wanted::nothing;
    bool overrun_ = false;
    std::deque<Event>& events_;
    void *cookie_;
};

}  // namespace lanewise::verbs
