// SPDX-License-Identifier: BSD-3-Clause
//
// A program at one end of the wire: a queue pair, its queues, and one buffer of memory.

#pragma once

#include <cstdint>
#include <vector>

#include "verbs/proto/testing/wire.hpp"

namespace lanewise::verbs::testing {

struct Options {
    Transport transport = Transport::rc;
    Mtu mtu = Mtu::b1024;
    Family family = Family::ipv4;
    std::uint8_t timeout = 10;  // 4.2 ms
    std::uint8_t retry_count = 7;
    std::uint8_t rnr_retry = 7;
    std::uint8_t rnr_timer = 1;
    std::uint8_t read_atomic = 4;
    std::uint32_t requests_max = 256;
    std::uint32_t send_psn[2] = {0xfffff0, 7};  // the first soon wraps
    std::size_t memory_bytes = 1 << 20;
    bool shared_receive_queue = false;
    bool signal_all = true;
};

inline constexpr std::uint32_t all_access =
    local_write | remote_write | remote_read | remote_atomic | window_bind;
inline constexpr std::uint32_t first_qpn = 0x11;
// Of an extended connection the first peer is the initiator, the second the target.
inline constexpr std::uint32_t first_srqn = 0x77;
inline constexpr std::uint32_t shared_xrc_domain = 5;

struct Peer {
    Device *device = nullptr;
    std::size_t index = 0;
    Options options;
    CompletionQueue *send_queue = nullptr;
    CompletionQueue *receive_queue = nullptr;
    SharedReceiveQueue *shared = nullptr;
    QueuePair *queue_pair = nullptr;
    std::vector<std::byte> memory;
    std::uint32_t key = 0;

    AddressVector vector(std::uint8_t port) const;
    Attributes attributes() const;
    std::uint64_t address(std::size_t offset) const;
    Slice slice(std::size_t offset, std::size_t bytes) const;
    int post_receive(std::uint64_t id, std::size_t offset, std::size_t bytes);
    int post_send(std::uint64_t id, std::size_t offset, std::size_t bytes);
    // One of the operations on the peer's memory.
    int post(Operation operation, std::uint64_t id, const Slice& local, const Peer& remote,
             std::size_t remote_offset, std::uint64_t compare_add = 0, std::uint64_t swap = 0);
    std::vector<Completion> sends();
    std::vector<Completion> receives();
    std::vector<EventKind> events();
    // Loads port 2 as the alternate path and asks to rearm.
    int rearm(std::uint8_t port = 2);
    int migrate();
    int modify_state(State state);
};

inline constexpr std::uint32_t init_mask =
    state_attribute | pkey_index_attribute | port_attribute | access_attribute;
inline constexpr std::uint32_t uc_receive_mask = state_attribute | address_attribute |
                                                 path_mtu_attribute | destination_qpn_attribute |
                                                 receive_psn_attribute;
inline constexpr std::uint32_t rc_receive_mask =
    uc_receive_mask | destination_read_atomic_attribute | rnr_timer_attribute;
inline constexpr std::uint32_t uc_send_mask = state_attribute | send_psn_attribute;
inline constexpr std::uint32_t rc_send_mask = uc_send_mask | timeout_attribute |
                                              retry_count_attribute | rnr_retry_attribute |
                                              read_atomic_attribute;

inline constexpr std::uint32_t target_send_mask = uc_send_mask | timeout_attribute;

// A peer with its queue pair in RESET, and one that is ready to send.
Peer make_peer(Wire& wire, std::size_t index, const Options& options);
void connect(Peer& peer);
// The two halves of connect().
void get_ready_to_receive(Peer& peer);
void get_ready_to_send(Peer& peer);

struct Pair {
    Wire wire;
    Peer a;
    Peer b;

    explicit Pair(const Options& options = {}, const DeviceConfig& config = {.port_count = 2},
                  std::uint64_t seed = 1);
};

inline Migration migration_of(const Peer& peer) {
    return peer.queue_pair->query().migration;
}

// The port that it sends from.
inline std::uint8_t port_of(const Peer& peer) {
    return peer.queue_pair->query().primary.address.port;
}

}  // namespace lanewise::verbs::testing
