// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

std::vector<Completion> drain(CompletionQueue& queue) {
    std::vector<Completion> all(queue.size());
    queue.poll(all);
    return all;
}

void must(int status) {
    if (status != 0) {
        __builtin_trap();
    }
}

}  // namespace

AddressVector Peer::vector(std::uint8_t port) const {
    AddressVector vector;
    vector.port = port;
    vector.is_global = true;
    vector.source = address_of(options.family, index, port);
    vector.destination = vector.destination_gid = address_of(options.family, 1 - index, port);
    vector.source_udp_port = static_cast<std::uint16_t>(0xc000 + index);
    return vector;
}

Attributes Peer::attributes() const {
    Attributes wanted;
    wanted.access = all_access;
    wanted.qkey = 0x1234;
    wanted.path_mtu = options.mtu;
    wanted.destination_qpn = first_qpn + static_cast<std::uint32_t>(1 - index);
    wanted.primary = {.address = vector(1), .timeout = options.timeout};
    wanted.receive_psn = options.send_psn[1 - index];
    wanted.send_psn = options.send_psn[index];
    wanted.read_atomic_max = wanted.destination_read_atomic_max = options.read_atomic;
    wanted.retry_count = options.retry_count;
    wanted.rnr_retry = options.rnr_retry;
    wanted.rnr_timer = options.rnr_timer;
    return wanted;
}

Peer make_peer(Wire& wire, std::size_t index, const Options& options) {
    Peer peer;
    peer.device = &wire.device(index);
    peer.index = index;
    peer.options = options;
    peer.send_queue = peer.device->create_completion_queue(4096, nullptr);
    peer.receive_queue = peer.device->create_completion_queue(4096, nullptr);
    if (options.shared_receive_queue) {
        peer.shared = peer.device->create_shared_receive_queue(1, options.requests_max, 4, nullptr);
    }
    const bool extended = options.transport == Transport::xrc;
    if (extended && index == 1) {
        peer.shared = peer.device->create_extended_receive_queue(
            {first_srqn, shared_xrc_domain, peer.receive_queue}, 1, options.requests_max, 4,
            nullptr);
    }
    const Role role = extended ? (index == 0 ? Role::initiator : Role::target) : Role::both;
    peer.memory.resize(options.memory_bytes);
    peer.key = peer.device->memory().add({.domain = 1,
                                          .start = peer.memory.data(),
                                          .address = peer.address(0),
                                          .length_bytes = options.memory_bytes,
                                          .access = all_access});
    peer.queue_pair = peer.device->create_queue_pair(
        {.transport = options.transport,
         .number = first_qpn + static_cast<std::uint32_t>(index),
         .role = role,
         .domain = role == Role::target ? 0u : 1u,
         .xrc_domain = shared_xrc_domain,
         .send_queue = role == Role::target ? nullptr : peer.send_queue,
         .receive_queue = extended ? nullptr : peer.receive_queue,
         .shared_receive_queue = extended ? nullptr : peer.shared,
         .send_requests_max = options.requests_max,
         .receive_requests_max = options.requests_max,
         .send_slices_max = 4,
         .receive_slices_max = 4,
         .inline_bytes_max = 256,
         .signal_all = options.signal_all});
    return peer;
}

void get_ready_to_receive(Peer& peer) {
    Attributes wanted = peer.attributes();
    const bool connected = peer.options.transport != Transport::ud;
    const Role role = peer.queue_pair->init().role;
    const bool answers = peer.options.transport == Transport::rc || role == Role::target;
    wanted.state = State::init;
    const std::uint32_t ud_init = init_mask - access_attribute + qkey_attribute;
    must(peer.queue_pair->modify(wanted, connected ? init_mask : ud_init));
    wanted.state = State::ready_to_receive;
    const std::uint32_t receive = answers ? rc_receive_mask : uc_receive_mask;
    must(peer.queue_pair->modify(wanted, connected ? receive : std::uint32_t{state_attribute}));
}

void get_ready_to_send(Peer& peer) {
    Attributes wanted = peer.attributes();
    const Role role = peer.queue_pair->init().role;
    const bool asks = peer.options.transport == Transport::rc || role == Role::initiator;
    wanted.state = State::ready_to_send;
    const std::uint32_t otherwise = role == Role::target ? target_send_mask : uc_send_mask;
    must(peer.queue_pair->modify(wanted, asks ? rc_send_mask : otherwise));
}

void connect(Peer& peer) {
    get_ready_to_receive(peer);
    get_ready_to_send(peer);
}

std::uint64_t Peer::address(std::size_t offset) const {
    return reinterpret_cast<std::uint64_t>(memory.data()) + offset;
}

Slice Peer::slice(std::size_t offset, std::size_t bytes) const {
    return {address(offset), static_cast<std::uint32_t>(bytes), key};
}

int Peer::post_receive(std::uint64_t id, std::size_t offset, std::size_t bytes) {
    const Slice one = slice(offset, bytes);
    const ReceiveRequest request{id, {&one, 1}};
    return shared != nullptr ? shared->post(request) : queue_pair->post_receive(request);
}

int Peer::post_send(std::uint64_t id, std::size_t offset, std::size_t bytes) {
    const Slice one = slice(offset, bytes);
    return queue_pair->post_send({.id = id, .slices = {&one, 1}, .remote_srqn = first_srqn});
}

int Peer::post(Operation operation, std::uint64_t id, const Slice& local, const Peer& remote,
               std::size_t remote_offset, std::uint64_t compare_add, std::uint64_t swap) {
    return queue_pair->post_send({.id = id,
                                  .operation = operation,
                                  .immediate = static_cast<std::uint32_t>(id),
                                  .slices = {&local, 1},
                                  .remote_address = remote.address(remote_offset),
                                  .rkey = remote.key,
                                  .compare_add = compare_add,
                                  .swap = swap,
                                  .remote_srqn = first_srqn});
}

std::vector<Completion> Peer::sends() {
    return drain(*send_queue);
}
std::vector<Completion> Peer::receives() {
    return drain(*receive_queue);
}

std::vector<EventKind> Peer::events() {
    std::vector<EventKind> kinds;
    while (const auto event = device->poll_event()) {
        kinds.push_back(event->kind);
    }
    return kinds;
}

int Peer::rearm(std::uint8_t port) {
    Attributes wanted;
    wanted.alternate = {.address = vector(port), .timeout = options.timeout};
    wanted.migration = Migration::rearm;
    return queue_pair->modify(wanted, alternate_path_attribute | migration_attribute);
}

int Peer::migrate() {
    Attributes wanted;
    wanted.migration = Migration::migrated;
    return queue_pair->modify(wanted, migration_attribute);
}

int Peer::modify_state(State state) {
    Attributes wanted;
    wanted.state = state;
    return queue_pair->modify(wanted, state_attribute);
}

Pair::Pair(const Options& options, const DeviceConfig& config, std::uint64_t seed)
    : wire(config, seed), a(make_peer(wire, 0, options)), b(make_peer(wire, 1, options)) {
    connect(a);
    connect(b);
}

}  // namespace lanewise::verbs::testing
