// SPDX-License-Identifier: BSD-3-Clause
//
// What comes out when a work request is done (struct ibv_wc). Numbers are those of
// <infiniband/verbs.h>.

#pragma once

#include <cstdint>

namespace lanewise::verbs {

enum class Status : std::uint8_t {  // enum ibv_wc_status
    success = 0,
    local_length_error = 1,
    local_operation_error = 2,
    local_protection_error = 4,
    flushed = 5,
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
    receive = 128,
    receive_rdma_with_immediate = 129,
};

struct Completion {
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
    std::uint32_t immediate = 0;  // in network byte order
    std::uint32_t qpn = 0;
    std::uint32_t source_qpn = 0;
};

}  // namespace lanewise::verbs
