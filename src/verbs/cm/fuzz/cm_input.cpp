// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/fuzz/cm_input.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "verbs/cm/machine/agent.hpp"
#include "verbs/cm/message/datagram.hpp"
#include "verbs/cm/message/ip_service.hpp"
#include "verbs/proto/fuzz/script.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::cm {
namespace {

constexpr Address address_ending_in(std::uint8_t last) {
    return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 0, last};
}
constexpr Address own = address_ending_in(1);
constexpr Address peer = address_ending_in(2);
constexpr Address stranger = address_ending_in(9);
constexpr std::uint64_t service = 0x01061234;
constexpr std::uint64_t cookie = 7;
constexpr std::size_t backlog = 4;
constexpr std::uint32_t first_id = 1U << 22;

class Attack {
  public:
    explicit Attack(std::span<const std::uint8_t> input) : script_{input} {
        agent_.listen(service, no_address, cookie, backlog);
    }

    std::string play() {
        while (!script_.left.empty() && wrong_.empty()) {
            const std::uint32_t what = script_.number(1) % 8;
            if (what < 4) {
                message();
            } else if (what < 6) {
                call();
            } else if (what == 6) {
                raw();
            } else {
                now_ += Nanoseconds{script_.number(2)} * 1'000'000;
                agent_.on_deadline(now_);
            }
            collect();
        }
        agent_.forget_all(now_);
        collect();
        return wrong_;
    }

  private:
    // A number that the agent has given, or any.
    std::uint32_t id() {
        const std::uint32_t chosen = script_.number(1);
        return known_.empty() || chosen >= 240 ? first_id + chosen : known_[chosen % known_.size()];
    }

    void message() {
        Message made;
        made.kind = static_cast<Kind>(0x10 + script_.number(1) % 9);
        made.local_id = script_.number(1) % 8;
        made.remote_id = id();
        made.transaction = script_.number(1) % 4;
        made.service = service + (script_.number(1) % 8 == 0 ? 1 : 0);
        made.qpn = script_.number(1) % 4;
        made.answered = static_cast<Answered>(script_.number(1) % 3);
        made.reason = static_cast<std::uint16_t>(script_.number(1));
        made.private_data.assign(script_.number(1), std::byte{0x40});
        const Endpoints ends{script_.number(1) % 16 == 0 ? stranger : peer, own};
        Bytes datagram = datagram_of(made, ends, script_.number(1));
        const std::uint32_t spoil = script_.number(1);
        if (spoil >= 192) datagram[script_.number(2) % datagram.size()] ^= std::byte{1};
        deliver(datagram, ends);
    }

    // What is no datagram of ours at all, and may still be a message.
    void raw() {
        std::vector<std::byte> bytes(script_.number(2) % 300);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(script_.number(1));
        ip_header_of(bytes);
        const auto read = decode_message(bytes);
        if (!read) return;
        check(*read);
        agent_.on_message(*read, {peer, own}, now_);
    }

    void deliver(std::span<const std::byte> datagram, const Endpoints& ends) {
        const Arrival from{.source_udp_port = roce_udp_port,
                           .ip_id = 0,
                           .source = ends.source,
                           .destination = ends.destination};
        const auto read = message_of(datagram, from);
        if (!read) return;
        check(*read);
        ip_header_of(read->private_data);
        agent_.on_message(*read, ends, now_);
    }

    // What was read is written so that it is read again.
    void check(const Message& read) {
        const auto again = decode_message(encode(read));
        const bool same = again && again->kind == read.kind && again->local_id == read.local_id &&
                          again->remote_id == read.remote_id && again->qpn == read.qpn &&
                          again->private_data == read.private_data;
        if (!same) wrong_ = "a message is not written as it was read";
    }

    void call() {
        const Endpoints to{own, peer};
        Message made;
        made.service = service;
        switch (script_.number(1) % 8) {
            case 0: known_.push_back(agent_.connect(made, to, now_)); break;
            case 1: known_.push_back(agent_.resolve(made, to, now_)); break;
            case 2: agent_.accept(id(), made, now_); break;
            case 3: agent_.establish(id(), now_); break;
            case 4: agent_.reject(id(), Reason::consumer, {}, now_); break;
            case 5: agent_.disconnect(id(), now_); break;
            case 6: agent_.answer(id(), made, now_); break;
            default: agent_.forget(id(), now_);
        }
        if (known_.size() > 32) known_.erase(known_.begin());
    }

    void collect() {
        while (const auto outgoing = agent_.poll_message()) {
            if (outgoing->ends.source != own) wrong_ = "a message leaves from another address";
            if (!decode_message(encode(outgoing->message))) wrong_ = "a message cannot be read";
        }
        while (const auto event = agent_.poll_event()) {
            const bool is_new = event->kind == ConnectionEventKind::request ||
                                event->kind == ConnectionEventKind::datagram_request;
            if (is_new && event->listener != cookie) wrong_ = "a request is for nobody";
            if (is_new) known_.push_back(event->id);
        }
        constexpr Nanoseconds longest = 200'000'000'000;
        const Nanoseconds deadline = agent_.next_deadline();
        if (deadline != never && deadline > now_ + longest) wrong_ = "a deadline is far away";
    }

    FuzzScript script_;
    Agent agent_{Timing{}, first_id, 1U << 22, 1};
    Nanoseconds now_ = 1'000'000'000;
    std::vector<std::uint32_t> known_;
    std::string wrong_;
};

}  // namespace

std::string fuzz_cm(std::span<const std::uint8_t> input) {
    return Attack(input).play();
}

}  // namespace lanewise::verbs::cm
