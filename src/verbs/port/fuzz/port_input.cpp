// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/fuzz/port_input.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "verbs/port/socket.hpp"
#include "verbs/port/steering.hpp"
#include "verbs/port/wire.hpp"
#include "verbs/proto/fuzz/script.hpp"

namespace lanewise::verbs::port {
namespace {

const Address loopback = address_of(in_addr{htonl(INADDR_LOOPBACK)});
constexpr unsigned loopback_interface = 1;

// A process with a device, and one that attacks it: both are of this user.
struct Bench {
    Wire target;
    Slot attacker;
    Descriptor udp{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    SharedRing ring;

    static Bench& the() {
        static Bench made = [] {
            const Home home{loopback, loopback_interface};
            Result<Wire> wire = Wire::open(std::span(&home, 1));
            Result<Slot> slot = claim_slot(7);
            auto ends = SharedRing::make();
            if (!wire || !slot || !ends) __builtin_trap();
            Bench bench{std::move(*wire), std::move(*slot), {}, std::move(ends->writer)};
            bench.udp = Descriptor(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
            bench.target.answer_with([] { return std::string("{}"); });
            const RingOffer offer{.destination = loopback};
            forward_to_name(bench.attacker, mailbox_name(bench.target.slot()),
                            std::as_bytes(std::span(&offer, 1)),
                            {bench.ring.memory(), ends->reader_bell.number()});
            return bench;
        }();
        return made;
    }
};

// Packets for this process, for others, and probes, as a batch of the kernel's.
void send_batch(Bench& bench, FuzzScript& script) {
    const auto segment = static_cast<std::uint16_t>(script.number(2) % 200);
    const std::uint32_t kind = script.number(1) % 4;
    std::vector<std::byte> packets = script.bytes(script.number(1) % 180);
    const std::size_t step = segment > 0 ? segment : packets.size() + 1;
    for (std::size_t at = 0; at + destination_offset + 3 <= packets.size(); at += step) {
        if (kind == 3) break;
        const std::uint32_t number = kind == 0   ? first_number(bench.target.slot())
                                     : kind == 1 ? probe_number(script.number(1))
                                                 : first_number(bench.attacker.number);
        for (std::size_t i = 0; i < 3; ++i) {
            packets[at + destination_offset + i] = static_cast<std::byte>(number >> (16 - 8 * i));
        }
    }
    SocketAddress to(loopback, roce_udp_port, loopback_interface);
    iovec piece{packets.data(), packets.size()};
    Control control{};
    msghdr message = message_of({&piece, 1}, control);
    message.msg_name = &to.any;
    message.msg_namelen = to.bytes;
    cmsghdr *next = &control.aligned;
    if (segment > 0) add_control(message, next, SOL_UDP, UDP_SEGMENT, segment);
    sendmsg(bench.udp.number(), &message, MSG_DONTWAIT);
}

// Letters with and without descriptors, which are hardly ever those of a ring.
void send_letter(Bench& bench, FuzzScript& script) {
    const std::uint32_t kind = script.number(1) % 4;
    std::vector<std::byte> letter = script.bytes(script.number(1));
    if (kind == 1) {
        const auto question = std::as_bytes(std::span(status_question));
        letter.assign(question.begin(), question.end());
    }
    if (kind != 2) {
        forward_to_name(bench.attacker, mailbox_name(bench.target.slot()), letter);
        return;
    }
    const RingOffer offer{.destination = loopback};
    const auto meant = std::as_bytes(std::span(&offer, 1));
    letter.assign(meant.begin(), meant.end());
    const Descriptor memory(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (ftruncate(memory.number(), script.number(3)) != 0) return;
    forward_to_name(bench.attacker, mailbox_name(bench.target.slot()), letter,
                    {memory.number(), bench.udp.number()});
}

void write_record(Bench& bench, FuzzScript& script) {
    RingRecord record{.bytes = script.number(2),
                      .segment_bytes = static_cast<std::uint16_t>(script.number(2)),
                      .source = loopback,
                      .destination = loopback};
    std::vector<std::byte> packets = script.bytes(script.number(1));
    if (script.number(1) % 4 != 0) record.bytes = static_cast<std::uint32_t>(packets.size());
    const iovec piece{packets.data(), packets.size()};
    bench.ring.write(record, std::span(&piece, 1));
}

// Packets must lie in what was received, and be long enough to have a destination.
struct Taker {
    std::string wrong;
    std::size_t sum = 0;
    void operator()(const Datagram& one) {
        if (one.packet.size() < destination_offset + 3) wrong = "a packet without a destination";
        for (const std::byte byte : one.packet) sum += std::to_integer<std::size_t>(byte);
    }
};

void drain(Slot& slot) {
    std::array<char, 4096> letter{};
    while (recv(slot.mailbox.number(), letter.data(), letter.size(), MSG_DONTWAIT) >= 0) {
    }
}

}  // namespace

std::string fuzz_port(std::span<const std::uint8_t> input) {
    Bench& bench = Bench::the();
    FuzzScript script{input};
    Taker taker;
    const auto take = [&](const Datagram& one) { taker(one); };
    while (!script.left.empty()) {
        switch (script.number(1) % 4) {
            case 0: send_batch(bench, script); break;
            case 1: send_letter(bench, script); break;
            case 2: write_record(bench, script); break;
            default: {
                const auto text = script.bytes(script.number(1));
                const std::string listing(reinterpret_cast<const char *>(text.data()), text.size());
                for (const Member& one : members_in("@lanewise-hca/member/" + listing, "g")) {
                    if (one.slot > last_slot) taker.wrong = "a member without a slot";
                }
            }
        }
        while (bench.target.receive(take)) {
        }
        while (bench.target.receive_forwarded(take)) {
        }
    }
    drain(bench.attacker);
    return taker.wrong;
}

}  // namespace lanewise::verbs::port
