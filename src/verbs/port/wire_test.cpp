// SPDX-License-Identifier: BSD-3-Clause
//
// The socket over the loopback interface. Several wires in one process behave as several
// processes: each has its slot and its socket.

#include "verbs/port/wire.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "verbs/port/steering.hpp"
#include "verbs/port/testing/loopback.hpp"

namespace lanewise::verbs::port {
namespace {

const Address loopback = address_of(testing::own_loopback());

const std::array<Home, 1> homes{Home{loopback, 1}};

Result<Wire> open_wire() {
    return Wire::open(homes);
}

std::vector<std::byte> packet_for(std::uint32_t qp_number, std::size_t bytes) {
    std::vector<std::byte> packet(bytes);
    packet[5] = static_cast<std::byte>(qp_number >> 16);
    packet[6] = static_cast<std::byte>(qp_number >> 8);
    packet[7] = static_cast<std::byte>(qp_number);
    return packet;
}

const Route around{loopback, loopback, 1};

Sent send(Wire& from, std::vector<std::byte> packets, std::size_t segment_bytes = 0,
          std::uint8_t traffic_class = 0, const Route& route = around) {
    const iovec piece{packets.data(), packets.size()};
    return from.send({.route = route,
                      .origin = from.origin(route),
                      .segment_bytes = segment_bytes,
                      .traffic_class = traffic_class,
                      .pieces = std::span(&piece, 1)});
}

// From a socket that belongs to no wire.
void send_from(const Descriptor& stranger, in_addr address, const std::vector<std::byte>& packet,
               int traffic_class) {
    setsockopt(stranger.number(), IPPROTO_IP, IP_TOS, &traffic_class, sizeof traffic_class);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(4791);
    to.sin_addr = address;
    sendto(stranger.number(), packet.data(), packet.size(), 0,
           reinterpret_cast<const sockaddr *>(&to), sizeof to);
}

struct Got {
    std::size_t packets = 0;
    std::size_t bytes = 0;
    unsigned last_number = 0;
    Address source{};
    std::uint16_t source_port = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
};

// What reaches `wire`, by its socket or its mailbox, until nothing comes for a moment.
Got collect(Wire& wire, std::span<Wire *const> others = {}) {
    Got got;
    const auto take = [&](const Datagram& datagram) {
        ++got.packets;
        got.bytes += datagram.packet.size();
        got.last_number = datagram.number;
        got.source = datagram.source;
        got.source_port = datagram.source_port;
        got.traffic_class = datagram.traffic_class;
        got.hop_limit = datagram.hop_limit;
    };
    for (bool more = true; more;) {
        std::array<pollfd, 2> ready{pollfd{wire.socket(), POLLIN, 0},
                                    pollfd{wire.mailbox(), POLLIN, 0}};
        poll(ready.data(), ready.size(), 20);
        for (Wire *other : others) {
            while (other->receive([](const Datagram&) {})) {
            }
        }
        const bool direct = wire.receive(take);
        more = wire.receive_forwarded(take) || direct;
    }
    return got;
}

TEST(WireTest, APacketReachesTheOwnerOfItsQueuePair) {
    Result<Wire> a = open_wire();
    Result<Wire> b = open_wire();
    ASSERT_TRUE(a && b);
    EXPECT_EQ(send(*a, packet_for(first_number(b->slot()) + 7, 100)), Sent::yes);
    const Got got = collect(*b);
    EXPECT_EQ(got.packets, 1U);
    EXPECT_EQ(got.bytes, 100U);
    EXPECT_EQ(got.source, loopback);
    EXPECT_EQ(a->forwarded() + b->forwarded(), 0U);
}

TEST(WireTest, ABatchArrivesAsItsPacketsInOrder) {
    Result<Wire> a = open_wire();
    Result<Wire> b = open_wire();
    ASSERT_TRUE(a && b);
    std::vector<std::byte> batch;
    for (const std::size_t bytes : {200U, 200U, 80U}) {
        const auto packet = packet_for(first_number(b->slot()), bytes);
        batch.insert(batch.end(), packet.begin(), packet.end());
    }
    EXPECT_EQ(send(*a, batch, 200), Sent::yes);
    const Got got = collect(*b);
    EXPECT_EQ(got.packets, 3U);
    EXPECT_EQ(got.bytes, 480U);
    EXPECT_EQ(got.last_number, 2U);
}

// Of IPv4 and IPv6, from the socket of an address and from one of a route that is used often, also
// where the classes differ from packet to packet.
TEST(WireTest, APacketComesWithTheTrafficClassThatItWasSentWith) {
    const Address other = address_of(in6addr_loopback);
    for (const Address& address : {loopback, other}) {
        const std::array<Home, 1> at{Home{address, 1}};
        Result<Wire> a = Wire::open(at);
        Result<Wire> b = Wire::open(at);
        if (!a && address == other) GTEST_SKIP() << "no IPv6: " << a.failure().sentence;
        ASSERT_TRUE(a && b);
        const Route route{address, address, 1};
        for (int count = 0; count < 2 * ConnectedSockets::uses_before_open; ++count) {
            const std::uint8_t wanted = count % 3 == 0 ? 0xc0 : 26 << 2 | 2;
            ASSERT_EQ(send(*a, packet_for(first_number(b->slot()), 64), 0, wanted, route),
                      Sent::yes);
            const Got got = collect(*b);
            ASSERT_EQ(got.packets, 1U);
            EXPECT_EQ(got.traffic_class, wanted) << text(address) << ", packet " << count;
            EXPECT_EQ(got.hop_limit, 64) << text(address);
        }
    }
}

TEST(WireTest, ARouteThatIsUsedOftenGetsALineAndNothingIsLost) {
    Result<Wire> a = open_wire();
    Result<Wire> b = open_wire();
    ASSERT_TRUE(a && b);
    for (int count = 1; count <= 2 * ConnectedSockets::uses_before_open; ++count) {
        const Origin origin = a->origin(around);
        EXPECT_EQ(origin.source_udp_port != 4791, count >= ConnectedSockets::uses_before_open)
            << count;
        std::vector<std::byte> packet = packet_for(first_number(b->slot()), 64);
        const iovec piece{packet.data(), packet.size()};
        EXPECT_EQ(a->send({.route = around, .origin = origin, .pieces = {&piece, 1}}), Sent::yes);
        const Got got = collect(*b);
        EXPECT_EQ(got.packets, 1U) << count;
        EXPECT_EQ(got.source_port, origin.source_udp_port);
    }
}

TEST(WireTest, WhatWasSealedForALineThatIsGoneIsLost) {
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    Origin origin;
    for (int count = 0; count < ConnectedSockets::uses_before_open; ++count)
        origin = a->origin(around);
    a->close_connected();
    std::vector<std::byte> packet = packet_for(first_number(a->slot()), 64);
    const iovec piece{packet.data(), packet.size()};
    EXPECT_EQ(a->send({.route = around, .origin = origin, .pieces = {&piece, 1}}), Sent::lost);
    EXPECT_EQ(send(*a, packet), Sent::yes);
}

TEST(WireTest, EachOfManyStandsInItsOwnPlace) {
    std::vector<Wire> wires;
    for (int count = 0; count < 6; ++count) {
        Result<Wire> wire = open_wire();
        ASSERT_TRUE(wire);
        wires.push_back(std::move(*wire));
    }
    for (Wire& wire : wires) {
        send(wires.front(), packet_for(first_number(wire.slot()), 64));
        EXPECT_EQ(collect(wire).packets, 1U);
    }
    for (const Wire& wire : wires) EXPECT_EQ(wire.forwarded(), 0U);
}

TEST(WireTest, WhoHasReadAllAnswersKnowsItsPlace) {
    std::vector<Wire> wires;
    for (int count = 0; count < 3; ++count) {
        Result<Wire> wire = open_wire();
        ASSERT_TRUE(wire);
        wires.push_back(std::move(*wire));
    }
    for (Wire& wire : wires) collect(wire);
    // From two ports of UDP: were it for the kernel to choose, it would by these.
    for (int count = 0; count < 2 * ConnectedSockets::uses_before_open; ++count) {
        Wire& wire = wires[static_cast<std::size_t>(count) % wires.size()];
        send(wires.front(), packet_for(first_number(wire.slot()), 64));
        EXPECT_EQ(collect(wire).packets, 1U);
    }
    for (const Wire& wire : wires) EXPECT_EQ(wire.forwarded(), 0U);
}

TEST(WireTest, WhenAMemberLeavesEveryPacketStillArrives) {
    Result<Wire> a = open_wire();
    std::optional<Result<Wire>> leaver = open_wire();
    Result<Wire> b = open_wire();
    Result<Wire> c = open_wire();
    ASSERT_TRUE(a && *leaver && b && c);
    leaver.reset();  // c, the last, is moved into its place
    const std::array<Wire *, 2> others{&*a, &*b};
    for (int count = 0; count < 20; ++count) {
        EXPECT_EQ(send(*a, packet_for(first_number(c->slot()), 64)), Sent::yes);
        EXPECT_EQ(collect(*c, others).packets, 1U) << count;
    }
    const std::uint64_t forwarded = a->forwarded() + b->forwarded();
    send(*a, packet_for(first_number(c->slot()), 64));
    EXPECT_EQ(collect(*c, others).packets, 1U);
    EXPECT_EQ(a->forwarded() + b->forwarded(), forwarded) << "the table was not mended";
}

TEST(WireTest, APacketThatIsForwardedKeepsItsTrafficClass) {
    Result<Wire> a = open_wire();
    std::optional<Result<Wire>> leaver = open_wire();
    Result<Wire> b = open_wire();
    Result<Wire> c = open_wire();
    ASSERT_TRUE(a && *leaver && b && c);
    leaver.reset();  // c, the last, is moved into its place, and what is for c comes to another
    const std::array<Wire *, 2> others{&*a, &*b};
    std::uint64_t forwarded = 0;
    for (int tries = 0; forwarded == 0 && tries < 64; ++tries) {
        const Descriptor stranger(socket(AF_INET, SOCK_DGRAM, 0));  // its port decides who gets it
        send_from(stranger, testing::own_loopback(), packet_for(first_number(c->slot()), 64), 0x6a);
        EXPECT_EQ(collect(*c, others).traffic_class, 0x6a);
        forwarded = a->forwarded() + b->forwarded();
    }
    EXPECT_EQ(forwarded, 1U);
}

TEST(WireTest, OnlyTheAddressesOfThePortsAreHeard) {
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    const Descriptor stranger(socket(AF_INET, SOCK_DGRAM, 0));
    const std::vector<std::byte> packet = packet_for(first_number(a->slot()), 64);
    for (const in_addr address : {testing::own_loopback(1), testing::own_loopback()}) {
        send_from(stranger, address, packet, 0);
    }
    EXPECT_EQ(collect(*a).packets, 1U);
}

TEST(WireTest, AnAddressThatIsGoneIsHeardNoLongerAndANewOneIs) {
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    const Address other = address_of(testing::own_loopback(1));
    const std::array<Home, 1> moved{Home{other, 1}};
    ASSERT_TRUE(a->listen(moved));
    Result<Wire> b = Wire::open(moved);
    ASSERT_TRUE(b);
    EXPECT_EQ(send(*b, packet_for(first_number(a->slot()), 64)), Sent::lost);
    std::vector<std::byte> packet = packet_for(first_number(a->slot()), 64);
    const iovec piece{packet.data(), packet.size()};
    const Route route{other, other, 1};
    EXPECT_EQ(b->send({.route = route, .origin = b->origin(route), .pieces = {&piece, 1}}),
              Sent::yes);
    EXPECT_EQ(collect(*a).packets, 1U);
}

// The status of a process of `user` that opens a wire at `address`.
int open_as(uid_t user, const Address& address) {
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(user) != 0) _exit(9);
        const std::array<Home, 1> own{Home{address, 1}};
        const Result<Wire> wire = Wire::open(own);
        if (wire) _exit(0);
        _exit(wire.failure().sentence.find("another user") != std::string::npos ? 1 : 8);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

TEST(WireTest, AnotherUserOfTheHostHasTheAddressesThatAreLeft) {
    if (getuid() != 0) GTEST_SKIP() << "only root can be somebody else";
    constexpr uid_t nobody = 65534;
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    EXPECT_EQ(open_as(nobody, address_of(testing::own_loopback(1))), 0);
    EXPECT_EQ(open_as(nobody, loopback), 1);
}

TEST(WireTest, ProbesOfStrangersCostNothing) {
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    collect(*a);
    const std::uint64_t before = a->listeners().front().tables_made();
    for (const std::size_t bytes : {12U, 16U, 24U}) {
        std::vector<std::byte> probe = packet_for(probe_number(0), bytes);
        const std::uint32_t slot = a->slot();
        std::memcpy(probe.data() + 8, &slot, sizeof slot);
        for (int count = 0; count < 10; ++count) send(*a, probe);
    }
    EXPECT_EQ(collect(*a).packets, 0U);
    EXPECT_EQ(a->listeners().front().tables_made(), before);
}

// A letter with a packet for `wire`, sent by a process of `user`.
void send_letter_as(uid_t user, const Wire& wire, std::size_t bytes) {
    const pid_t child = fork();
    if (child == 0) {
        if (setuid(user) != 0) _exit(1);
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        const int length =
            snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "lanewise-hca/slot/%u", wire.slot());
        const int own = socket(AF_UNIX, SOCK_DGRAM, 0);
        const std::vector<std::byte> letter(bytes);
        const auto to_bytes = offsetof(sockaddr_un, sun_path) + 1 + static_cast<unsigned>(length);
        const ssize_t sent =
            sendto(own, letter.data(), letter.size(), 0, reinterpret_cast<const sockaddr *>(&to),
                   static_cast<socklen_t>(to_bytes));
        _exit(sent < 0 ? 2 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
}

TEST(WireTest, AServiceIsOfferedAtSingleAddressesOrAtAll) {
    constexpr std::uint64_t service = 0xabcdef01, longer = 0xabcdef012;
    const Address elsewhere = address_of(in_addr{htonl(0x0a000002)});
    Result<Wire> one = open_wire();
    Result<Wire> other = open_wire();
    ASSERT_TRUE(one && other);
    one->serve_connections();
    other->serve_connections();

    EXPECT_TRUE(one->offer(longer, loopback));
    EXPECT_TRUE(one->offer(service, loopback));
    EXPECT_TRUE(other->offer(service, elsewhere));
    EXPECT_FALSE(other->offer(service, no_address));
    EXPECT_FALSE(one->offer(service, no_address));

    one->withdraw(service, loopback);
    other->withdraw(service, elsewhere);
    EXPECT_TRUE(other->offer(service, no_address));
    EXPECT_FALSE(one->offer(service, loopback));
    EXPECT_FALSE(other->offer(service, loopback));
}

TEST(WireTest, LettersOfAnotherUserAreThrownAway) {
    if (getuid() != 0) GTEST_SKIP() << "only root can send as somebody else";
    constexpr uid_t nobody = 65534;
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    send_letter_as(0, *a, 100);
    EXPECT_EQ(collect(*a).packets, 1U);
    EXPECT_EQ(a->letters_refused(), 0U);

    send_letter_as(nobody, *a, 100);

    EXPECT_EQ(collect(*a).packets, 0U);
    EXPECT_EQ(a->letters_refused(), 1U);
}

TEST(WireTest, PacketsThatAreTooShortAreDropped) {
    Result<Wire> a = open_wire();
    ASSERT_TRUE(a);
    send(*a, std::vector<std::byte>(4));
    EXPECT_EQ(collect(*a).packets, 0U);
}

TEST(SteeringTest, ProbesAreNotQueuePairs) {
    EXPECT_TRUE(is_probe(probe_number(0)));
    EXPECT_FALSE(is_probe(first_number(last_slot)));
    EXPECT_FALSE(is_probe(0xffffff));
}

}  // namespace
}  // namespace lanewise::verbs::port
