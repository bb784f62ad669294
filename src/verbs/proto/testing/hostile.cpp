// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/hostile.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr std::size_t region_bytes = 16 << 10;
constexpr std::size_t guard_bytes = 8 << 10;
constexpr std::byte guard{0xa5};
constexpr std::byte inside{0x11};
constexpr std::uint32_t first_psn = 0xfffffc;
struct Kind {
    Transport transport;
    Role role = Role::both;
};
// The memory of one target after the other, which takes longer to allocate than to fill.
std::vector<std::byte>& reused(std::size_t bytes) {
    thread_local std::map<std::size_t, std::vector<std::byte>> kept;
    std::vector<std::byte>& memory = kept[bytes];
    memory.resize(bytes);
    return memory;
}

constexpr std::array kinds{Kind{Transport::rc}, Kind{Transport::uc}, Kind{Transport::ud},
                           Kind{Transport::xrc, Role::target},
                           Kind{Transport::xrc, Role::initiator}};

}  // namespace

// Reads numbers from the attacker's bytes; zeros when they are at an end.
struct Target::Script {
    std::span<const std::uint8_t> left;

    std::uint32_t number(std::size_t bytes) {
        std::uint32_t value = 0;
        for (; bytes > 0 && !left.empty(); --bytes, left = left.subspan(1)) {
            value = value << 8 | left.front();
        }
        return value;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
};

Target::Target()
    : device_({.port_count = 2,
               .window_bytes = 8192,
               .ack_delay_ns = 20'000,
               .lazy_ack_ns = 40'000,
               .reassembly_bytes = 4096,
               .reorder_ns = 30'000,
               .probe_ns = 50'000,
               .time_wait_ns = 1'000'000,
               .congestion = Congestion::dcqcn}),
      memory_(reused(region_bytes + 2 * guard_bytes)),
      buffer_(reused(16 << 10)) {
    const auto behind =
        std::fill_n(std::fill_n(memory_.begin(), guard_bytes, guard), region_bytes, inside);
    std::fill(behind, memory_.end(), guard);
    region_ = {.domain = 1,
               .start = memory_.data() + guard_bytes,
               .address = 0x10000,
               .length_bytes = region_bytes,
               .access = all_access};
    register_memory();
    completions_ = device_.create_completion_queue(4096, nullptr);
    shared_ = device_.create_extended_receive_queue({first_srqn, shared_xrc_domain, completions_},
                                                    1, 16, 1, nullptr);
    queue_pairs_.resize(kinds.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        make_queue_pair(i);
    }
    connect_all();
}

void Target::register_memory() {
    key_ = device_.memory().add(region_);
    windows_ = {device_.memory().add_window(1, WindowType::type_1),
                device_.memory().add_window(1, WindowType::type_2)};
}

// While a window is bound to the region it stays.
void Target::remove_memory() {
    MemoryTable& memory = device_.memory();
    wrong_ = wrong_ || (memory.has_windows(key_) && memory.remove(key_));
    for (const std::uint32_t window : windows_) memory.remove_window(window);
    memory.remove(key_);
    key_ = 0;
}

void Target::make_queue_pair(std::size_t index) {
    const Role role = kinds[index].role;
    queue_pairs_[index] =
        device_.create_queue_pair({.transport = kinds[index].transport,
                                   .number = first_qpn + static_cast<std::uint32_t>(index),
                                   .role = kinds[index].role,
                                   .domain = 1,
                                   .xrc_domain = shared_xrc_domain,
                                   .send_queue = role != Role::target ? completions_ : nullptr,
                                   .receive_queue = role == Role::both ? completions_ : nullptr,
                                   .send_requests_max = 16,
                                   .receive_requests_max = 16});
}

// What an attack or the program brought down is connected again, and memory registered, so that
// every script meets live ones.
void Target::connect_all() {
    if (region_.access != all_access || region_.length_bytes != region_bytes || key_ == 0) {
        remove_memory();
        region_.access = all_access;
        region_.length_bytes = region_bytes;
        register_memory();
    }
    for (QueuePair *queue_pair : queue_pairs_) {
        if (queue_pair->state() == State::ready_to_send) {
            continue;
        }
        Peer self;
        self.queue_pair = queue_pair;
        self.options.transport = queue_pair->init().transport;
        self.options.mtu = Mtu::b256;
        self.options.send_psn[0] = self.options.send_psn[1] = first_psn;
        self.modify_state(State::reset);
        connect(self);
        self.rearm();
    }
}

void Target::packet(Script& script) {
    const auto *queue_pair = queue_pairs_[script.byte() % queue_pairs_.size()];
    Packet made;
    made.base.opcode = static_cast<std::uint8_t>(
        (static_cast<unsigned>(queue_pair->init().transport) << 5) | (script.byte() & 31u));
    const std::uint8_t flags = script.byte();
    if ((flags & 1) != 0) {
        made.base.opcode = script.byte();
    } else if ((made.base.opcode & 31) == 31) {  // which no transport has
        made.base.opcode = 0x81;                 // a notification of congestion
    }
    made.row = opcode_row(made.base.opcode);
    made.base.solicited = (flags & 2) != 0;
    made.base.migration_request = (flags & 4) != 0;
    made.base.ack_request = (flags & 8) != 0;
    made.base.destination_qpn = queue_pair->number();
    made.base.psn = Psn(first_psn + static_cast<std::uint32_t>(script.byte()) - 8);
    made.datagram = {0x1234, 5};
    made.srqn = first_srqn + (flags >> 4 == 15 ? 1u : 0u);
    const std::uint64_t address = 0x10000 - 64 + std::uint64_t{script.number(2)};
    const std::array keys{key_,        key_ + 1,        windows_[0],
                          windows_[1], windows_[0] ^ 1, windows_[1] ^ 1};
    const std::uint32_t key = flags >> 4 < keys.size() ? keys[flags >> 4] : key_;
    made.rdma = {address, key, script.number(2)};
    made.atomic = {address, key, 1, 2};
    made.invalidated_key = (flags & 16) == 0 ? windows_[1] : key;
    made.ack = {script.byte(), script.number(2)};
    const std::size_t payload = made.row.has_payload ? script.number(2) % 600 : 0;
    made.base.pad_bytes = static_cast<std::uint8_t>(-payload & 3u);

    std::vector<std::byte> bytes(datagram_bytes(made.row, payload), std::byte{0x77});
    encode_headers(made, bytes);
    const std::uint8_t spoil = script.byte();
    if (spoil < 64) {
        bytes[script.number(2) % bytes.size()] = static_cast<std::byte>(script.byte());
    }
    if (spoil >= 224) {
        bytes.resize(std::max<std::size_t>(4, script.number(2) % bytes.size()));
    }
    const auto port = static_cast<std::uint8_t>(1 + (spoil >> 2) % 2);
    const std::uint8_t traffic_class = spoil % 8 == 5 ? marked : can_be_marked;
    Arrival from{.port = port, .traffic_class = traffic_class, .source_udp_port = 0xc001};
    constexpr std::size_t stranger = 7;
    const std::uint8_t whose = spoil % 32 == 1 ? flags >> 5 : 0;
    const auto other = static_cast<std::uint8_t>(whose == 1 ? 3 - port : port);
    const Family family = whose == 3 ? Family::ipv6 : Family::ipv4;
    from.source = address_of(family, whose == 2 ? stranger : 1, other);
    from.destination = address_of(family, 0, port);
    if (spoil % 16 != 0 && bytes.size() >= bth_bytes + icrc_bytes) {
        seal(bytes, {from.source, from.destination, from.source_udp_port}, 0);
    }
    const std::uint64_t before = queue_pair->counters().packets_received;
    device_.on_packet(bytes, from, now_);
    accepted_ += queue_pair->counters().packets_received - before;
}

void Target::work(Script& script) {
    QueuePair *queue_pair = queue_pairs_[script.byte() % queue_pairs_.size()];
    const Slice slice{0x10000 + script.number(2) % region_bytes, script.number(2), key_};
    if (script.byte() % 2 == 0) {
        queue_pair->post_receive({1, {&slice, 1}});
        if (queue_pair->init().role == Role::target) shared_->post({1, {&slice, 1}});
        return;
    }
    const AddressVector address = Peer{}.vector(1);
    const auto operation = static_cast<Operation>(script.byte() % 11);
    const std::uint8_t flags = script.byte();
    std::uint32_t& window = windows_[flags >> 7];
    const WindowBinding binding{window ^ (flags >> 6 & 1u), key_, slice.address, slice.length_bytes,
                                all_access | (flags & zero_based)};
    const int refused = queue_pair->post_send({.operation = operation,
                                               .flags = flags,
                                               .slices = {&slice, is_local(operation) ? 0u : 1u},
                                               .remote_address = 0x10000,
                                               .rkey = key_,
                                               .invalidated_key = window,
                                               .binding = &binding,
                                               .remote_srqn = first_srqn,
                                               .address = &address});
    if (refused == 0 && operation == Operation::bind_window) window = binding.key;
}

void Target::world(Script& script) {
    const std::uint8_t what = script.byte();
    now_ += Nanoseconds{script.number(2)} * 1000;
    device_.on_deadline(now_);
    if (what % 16 == 1) {
        device_.on_port_state(static_cast<std::uint8_t>(what / 16 % 4),
                              what >= 128 ? PortState::down : PortState::active);
    }
}

void Target::reset(QueuePair& queue_pair) {
    Attributes wanted;
    wanted.state = State::reset;
    queue_pair.modify(wanted, state_attribute);
}

void Target::modify(QueuePair& queue_pair, Script& script) {
    Peer self;
    self.options.mtu = Mtu::b256;
    Attributes wanted = self.attributes();
    wanted.state = static_cast<State>(script.byte() % 7);
    wanted.migration = static_cast<Migration>(script.byte() % 3);
    wanted.alternate = {.address = self.vector(static_cast<std::uint8_t>(1 + script.byte() % 3)),
                        .timeout = script.byte()};
    queue_pair.modify(wanted, script.number(3));
}

void Target::life(Script& script) {
    const std::size_t index = script.byte() % queue_pairs_.size();
    switch (script.byte() % 6) {
        case 0: remove_memory(); break;
        case 1:
            remove_memory();
            region_.access = script.byte() & all_access;
            region_.length_bytes = script.number(2) % (region_bytes + 1);
            register_memory();
            break;
        case 2:
            device_.destroy(queue_pairs_[index]);
            make_queue_pair(index);
            connect_all();
            break;
        case 3:
            wrong_ = wrong_ || device_.destroy(completions_) == 0;  // it is in use
            break;
        case 4: reset(*queue_pairs_[index]); break;
        default: modify(*queue_pairs_[index], script);
    }
}

// What leaves must not hold a run of the guard's bytes.
void Target::drain() {
    static constexpr std::array<std::byte, 12> run{guard, guard, guard, guard, guard, guard,
                                                   guard, guard, guard, guard, guard, guard};
    while (const auto sent = device_.poll_transmit(now_, buffer_, 16)) {
        leaked_ = leaked_ || memmem(buffer_.data(), sent->bytes, run.data(), run.size()) != nullptr;
    }
    // To begin with empty ones each time would take as long as all packets of a script.
    thread_local std::array<Completion, 64> completions;
    while (completions_->poll(completions) > 0) {
    }
    while (device_.poll_event()) {
    }
}

void Target::play(std::span<const std::uint8_t> bytes) {
    Script script{bytes};
    connect_all();
    while (!script.left.empty()) {
        const std::uint8_t what = script.byte();
        if (what < 180) {
            packet(script);
        } else if (what < 230) {
            work(script);
        } else if (what < 252) {
            world(script);
        } else {
            life(script);
        }
        if (what % 4 == 0) {
            drain();
            connect_all();
        }
    }
    drain();
}

// By memcmp(), since a fuzzer looks at every comparison that the program itself makes.
bool Target::unharmed() const {
    static const std::vector<std::byte> as_it_was(guard_bytes, guard);
    const std::byte *behind = memory_.data() + guard_bytes + region_bytes;
    return !leaked_ && !wrong_ && std::memcmp(memory_.data(), as_it_was.data(), guard_bytes) == 0 &&
           std::memcmp(behind, as_it_was.data(), guard_bytes) == 0;
}

}  // namespace lanewise::verbs::testing
