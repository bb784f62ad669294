// SPDX-License-Identifier: BSD-3-Clause
//
// The attributes of a queue pair (struct ibv_qp_attr), the masks that choose among them, and what
// is fixed when it is made. Numbers are those of <infiniband/verbs.h>.

#pragma once

#include <cstdint>

#include "verbs/proto/memory/memory_table.hpp"
#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/opcode.hpp"

namespace lanewise::verbs {

class CompletionQueue;
class SharedReceiveQueue;

enum class State : std::uint8_t {  // enum ibv_qp_state
    reset = 0,
    init = 1,
    ready_to_receive = 2,
    ready_to_send = 3,
    send_queue_drained = 4,
    send_queue_error = 5,
    error = 6,
};

enum class Migration : std::uint8_t { migrated = 0, rearm = 1, armed = 2 };  // enum ibv_mig_state

enum class Mtu : std::uint8_t { b256 = 1, b512 = 2, b1024 = 3, b2048 = 4, b4096 = 5 };

constexpr std::uint32_t mtu_bytes(Mtu mtu) {
    return 128u << static_cast<unsigned>(mtu);
}

enum Attribute : std::uint32_t {  // enum ibv_qp_attr_mask
    state_attribute = 1 << 0,
    current_state_attribute = 1 << 1,
    drained_notice_attribute = 1 << 2,
    access_attribute = 1 << 3,
    pkey_index_attribute = 1 << 4,
    port_attribute = 1 << 5,
    qkey_attribute = 1 << 6,
    address_attribute = 1 << 7,
    path_mtu_attribute = 1 << 8,
    timeout_attribute = 1 << 9,
    retry_count_attribute = 1 << 10,
    rnr_retry_attribute = 1 << 11,
    receive_psn_attribute = 1 << 12,
    read_atomic_attribute = 1 << 13,
    alternate_path_attribute = 1 << 14,
    rnr_timer_attribute = 1 << 15,
    send_psn_attribute = 1 << 16,
    destination_read_atomic_attribute = 1 << 17,
    migration_attribute = 1 << 18,
    destination_qpn_attribute = 1 << 20,
};

struct Path {
    AddressVector address;
    std::uint16_t pkey_index = 0;
    std::uint8_t timeout = 0;  // a code of ack_timeout_ns()
};

struct Attributes {
    State state = State::reset;
    State current_state = State::reset;
    bool drained_notice = false;
    bool draining = false;  // only set by a query
    std::uint32_t access = 0;
    std::uint8_t port = 1;
    std::uint32_t qkey = 0;
    Mtu path_mtu = Mtu::b256;
    std::uint32_t destination_qpn = 0;
    Path primary;    // pkey_index and timeout have attributes of their own
    Path alternate;  // all of it is one attribute
    Migration migration = Migration::migrated;
    std::uint32_t receive_psn = 0;
    std::uint32_t send_psn = 0;
    std::uint8_t read_atomic_max = 0;
    std::uint8_t destination_read_atomic_max = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    std::uint8_t rnr_timer = 0;  // a code of rnr_timer_ns()
};

// Of an extended connection, whose sides are queue pairs of different kinds (IBV_QPT_XRC_SEND and
// IBV_QPT_XRC_RECV): one sends requests, the other takes them. A queue pair of others does both.
enum class Role : std::uint8_t { both, initiator, target };

struct QueuePairInit {
    Transport transport = Transport::rc;
    std::uint32_t number = 0;  // the border finds one that is free on the host
    Role role = Role::both;
    ProtectionDomain domain = 0;   // a target has those of the queues that it receives into
    std::uint32_t xrc_domain = 0;  // of a target
    CompletionQueue *send_queue = nullptr;
    CompletionQueue *receive_queue = nullptr;
    SharedReceiveQueue *shared_receive_queue = nullptr;
    std::uint32_t send_requests_max = 1;
    std::uint32_t receive_requests_max = 1;
    std::uint32_t send_slices_max = 1;
    std::uint32_t receive_slices_max = 1;
    std::uint32_t inline_bytes_max = 0;
    bool signal_all = false;
    void *cookie = nullptr;
};

}  // namespace lanewise::verbs
