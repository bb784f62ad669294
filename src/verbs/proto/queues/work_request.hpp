// SPDX-License-Identifier: BSD-3-Clause
//
// What a program asks a queue pair to do. Numbers are those of <infiniband/verbs.h>, so that the
// border casts and does not translate; the engine checks them all the same.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs {

struct Slice {  // struct ibv_sge
    std::uint64_t address = 0;
    std::uint32_t length_bytes = 0;
    std::uint32_t lkey = 0;
};

enum class Operation : std::uint8_t {  // enum ibv_wr_opcode
    write = 0,
    write_immediate = 1,
    send = 2,
    send_immediate = 3,
    read = 4,
    compare_swap = 5,
    fetch_add = 6,
    local_invalidate = 7,
    bind_window = 8,
    send_invalidate = 9,
};

constexpr bool is_atomic(Operation operation) {
    return operation == Operation::compare_swap || operation == Operation::fetch_add;
}

// Whether it sends nothing, and changes a memory window of this device.
constexpr bool is_local(Operation operation) {
    return operation == Operation::local_invalidate || operation == Operation::bind_window;
}

enum SendFlag : std::uint32_t {  // enum ibv_send_flags
    fence = 1,
    signaled = 2,
    solicited = 4,
    inline_data = 8,
};

struct SendRequest {
    std::uint64_t id = 0;
    Operation operation = Operation::send;
    std::uint32_t flags = 0;             // of SendFlag
    std::uint32_t immediate = 0;         // in network byte order
    std::span<const Slice> slices = {};  // read before post_send() returns
    // Where inline_data is set, and `inline_bytes` is not empty, the data lie there and `slices` is
    // not looked at; ibv_wr_set_inline_data_list is several spans in a row.
    std::span<const std::span<const std::byte>> inline_bytes = {};

    std::uint64_t remote_address = 0;
    std::uint32_t rkey = 0;
    std::uint64_t compare_add = 0;
    std::uint64_t swap = 0;

    std::uint32_t invalidated_key = 0;       // of a window of type 2, here or at the peer
    const WindowBinding *binding = nullptr;  // of bind_window; copied

    std::uint32_t remote_srqn = 0;           // extended connections only
    const AddressVector *address = nullptr;  // datagrams only; copied
    std::uint32_t remote_qpn = 0;
    std::uint32_t remote_qkey = 0;
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Slice> slices;
};

}  // namespace lanewise::verbs
