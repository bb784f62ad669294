// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/duel.hpp"

#include <array>
#include <vector>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr std::size_t duel_memory_bytes = 16 << 10;
constexpr std::size_t duel_message_bytes = 3000;
constexpr Nanoseconds duel_second_ns = 1'000'000'000;
constexpr std::array duel_transports{Transport::rc, Transport::uc, Transport::ud};

class Duel {
  public:
    explicit Duel(std::uint8_t kind)
        : pair_({.transport = duel_transports[kind % 3],
                 .mtu = Mtu::b256,
                 .timeout = 8,
                 .requests_max = 32,
                 .memory_bytes = duel_memory_bytes,
                 .shared_receive_queue = kind % 2 == 1},
                {.port_count = 2,
                 .window_bytes = 4096,
                 .ack_delay_ns = 20'000,
                 .lazy_ack_ns = 40'000,
                 .reassembly_bytes = 4096,
                 .reorder_ns = 30'000,
                 .probe_ns = 50'000,
                 .time_wait_ns = 1'000'000,
                 .retry_window_ns = kind / 8 % 2 * duel_second_ns,
                 .confirm_alternates = kind / 16 % 2 == 1},
                kind) {
        for (Peer *peer : {&pair_.a, &pair_.b}) {
            if (duel_transports[kind % 3] != Transport::ud || kind / 32 % 2 == 0) continue;
            const Peer self = *peer;
            peer->device->send_datagrams_also([self](const AddressVector& to) {
                return std::optional(self.vector(to.port == 1 ? 2 : 1));
            });
        }
        pair_.wire.tap = [this](std::size_t, std::vector<std::byte>& bytes) {
            if (spoil_ == 0) return true;
            bytes[spoil_ % bytes.size()] ^= static_cast<std::byte>(spoil_ >> 8 | 1);
            spoil_ = 0;
            return true;
        };
    }

    void step(std::uint8_t what, std::uint8_t value) {
        Peer& peer = value % 2 == 0 ? pair_.a : pair_.b;
        const Peer& other = value % 2 == 0 ? pair_.b : pair_.a;
        const auto port = static_cast<std::uint8_t>(1 + value / 2 % 2);
        if (gone_ == &peer) {
            pair_.wire.run_for(1000);
            return;
        }
        switch (what % 16) {
            case 0:
            case 1:
            case 2: post(peer, other, what, value); break;
            case 3:
            case 4: peer.post_receive(0, 0, duel_message_bytes + 40); break;
            case 5: peer.rearm(port); break;
            case 6: peer.migrate(); break;
            case 7: pair_.wire.cut(port); break;
            case 8: pair_.wire.mend(port); break;
            case 9:
                pair_.wire.path(port).cut = value >= 128;  // nobody notices
                break;
            case 10:
                pair_.wire.path(port) = {.loss = value / 512.0, .duplicate = 0.1, .reorder = 0.1};
                break;
            case 11: spoil_ = std::uint32_t{what} << 8 | value; break;
            case 12: end(peer, what / 16, value); break;
            default: pair_.wire.run_for(Nanoseconds{1000} << (value % 12));
        }
        collect();
    }

    std::string finish() {
        for (std::uint8_t port = 1; port <= 2; ++port) {
            pair_.wire.path(port) = {};
            pair_.wire.mend(port);
        }
        for (int i = 0; i < 64; ++i) {
            for (Peer *peer : {&pair_.a, &pair_.b}) {
                if (!ended_) peer->post_receive(0, 0, duel_message_bytes + 40);
            }
        }
        pair_.wire.run_for(20 * duel_second_ns);
        collect();
        if (twice_) return "a request completed twice, or was never posted";
        const bool reliable = pair_.a.options.transport == Transport::rc;
        const bool live = !ended_ && pair_.a.queue_pair->state() == State::ready_to_send &&
                          pair_.b.queue_pair->state() == State::ready_to_send;
        return reliable && live && open_ != 0 ? "a request did not complete" : "";
    }

  private:
    void post(Peer& peer, const Peer& other, std::uint8_t what, std::uint8_t value) {
        if (ended_) return;
        const std::size_t bytes = std::size_t{what} * value % duel_message_bytes;
        const auto operation = static_cast<Operation>(value / 2 % 10);
        const Slice slice = peer.slice(value, is_atomic(operation) ? 8 : bytes);
        const bool binds = operation == Operation::bind_window;
        const std::uint32_t closed =
            open(operation == Operation::send_invalidate ? other : peer, value);
        const WindowBinding binding = of_all(peer, binds ? rebound_[peer.index] : closed);
        const AddressVector address = peer.vector(1);
        const std::uint64_t id = posted_.size();
        const int refused =
            peer.queue_pair->post_send({.id = id,
                                        .operation = operation,
                                        .slices = {&slice, is_local(operation) ? 0u : 1u},
                                        .remote_address = other.address(8),
                                        .rkey = value % 5 == 0 ? rebound_[other.index] : other.key,
                                        .invalidated_key = closed,
                                        .binding = &binding,
                                        .address = &address,
                                        .remote_qpn = first_qpn + 1,
                                        .remote_qkey = 0x1234});
        if (refused != 0) return;
        posted_.push_back(true);
        ++open_;
    }

    static WindowBinding of_all(const Peer& peer, std::uint32_t key) {
        return {key, peer.key, peer.address(0), duel_memory_bytes, remote_write | remote_read};
    }

    // The window that a request is to close; most often it is open.
    std::uint32_t open(const Peer& peer, std::uint8_t value) {
        const std::uint32_t key = closed_[peer.index];
        const Accessor self{1, first_qpn + static_cast<std::uint32_t>(peer.index)};
        if (value % 16 < 15) peer.device->memory().bind(of_all(peer, key), self);
        return key;
    }

    static std::array<std::uint32_t, 2> make_windows(const Pair& pair, WindowType type) {
        return {pair.a.device->memory().add_window(1, type),
                pair.b.device->memory().add_window(1, type)};
    }

    // A queue pair or its memory goes.
    void end(Peer& peer, unsigned how, std::uint8_t value) {
        if (ended_) return;
        if (how % 2 == 0) {
            peer.device->memory().remove_window(rebound_[peer.index]);
            if (how % 4 == 0) peer.device->memory().remove_window(closed_[peer.index]);
            peer.device->memory().remove(peer.key);
            return;
        }
        ended_ = true;
        if (value % 4 < 2) {
            peer.modify_state(State::error);
        } else {
            peer.device->destroy(peer.queue_pair);
            gone_ = &peer;
        }
    }

    void collect() {
        for (Peer *peer : {&pair_.a, &pair_.b}) {
            for (const Completion& one : peer->sends()) {
                twice_ = twice_ || one.id >= posted_.size() || !posted_[one.id];
                if (twice_) return;
                posted_[one.id] = false;
                --open_;
            }
            peer->receives();
            peer->events();
        }
    }

    Pair pair_;
    std::array<std::uint32_t, 2> rebound_ = make_windows(pair_, WindowType::type_1);
    std::array<std::uint32_t, 2> closed_ = make_windows(pair_, WindowType::type_2);
    std::vector<bool> posted_;  // by id, those that have not completed
    std::size_t open_ = 0;
    std::uint32_t spoil_ = 0;
    bool ended_ = false;
    bool twice_ = false;
    const Peer *gone_ = nullptr;
};

}  // namespace

std::string duel(std::span<const std::uint8_t> script) {
    if (script.empty()) return {};
    Duel duel(script[0]);
    for (std::size_t at = 1; at + 1 < script.size(); at += 2) duel.step(script[at], script[at + 1]);
    return duel.finish();
}

}  // namespace lanewise::verbs::testing
