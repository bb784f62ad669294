// SPDX-License-Identifier: BSD-3-Clause
//
// Connected sockets over the loopback interface; a raw socket shows the packets that they send.

#include "verbs/port/connected_socket.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <vector>

namespace lanewise::verbs::port {
namespace {

Address loopback(std::uint32_t host) {
    return address_of(in_addr{htonl(INADDR_LOOPBACK + host)});
}

const Route around{loopback(0), loopback(1), 1};

// A raw socket, which wants CAP_NET_RAW.
Descriptor open_raw() {
    return Descriptor(socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK, IPPROTO_UDP));
}

// Where the next packet to the RoCEv2 port that `raw` shows comes from.
Origin shown(const Descriptor& raw) {
    std::array<std::uint8_t, 2048> packet{};
    while (recv(raw.number(), packet.data(), packet.size(), 0) > 0) {
        const auto two = [&](std::size_t at) {
            return static_cast<std::uint16_t>(packet[at] << 8 | packet[at + 1]);
        };
        if (two(22) == 4791) return {two(20), two(4)};
    }
    return {};
}

Sent send(ConnectedSocket& connected, std::size_t bytes, std::size_t segment_bytes = 0) {
    std::vector<std::byte> payload(bytes);
    const iovec piece{payload.data(), payload.size()};
    return connected.send({&piece, 1}, segment_bytes, 0);
}

TEST(LineTest, SaysBeforeEachPacketWhatItsHeadersWillSay) {
    const Descriptor raw = open_raw();
    if (!raw) GTEST_SKIP() << "no raw sockets for this user";
    std::optional<ConnectedSocket> connected = ConnectedSocket::open(around);
    ASSERT_TRUE(connected);
    // Nobody listens, so from the second on each first gets the error that the last was refused.
    for (const std::size_t bytes : {24U, 24U, 600U, 24U, 600U, 600U, 24U}) {
        const Origin origin = connected->origin();
        ASSERT_EQ(send(*connected, bytes, bytes > 100 ? 200 : 0), Sent::yes);
        EXPECT_EQ(shown(raw), origin);
    }
}

TEST(LineTest, CannotBeOpenedFromAForeignAddress) {
    EXPECT_FALSE(ConnectedSocket::open({address_of(in_addr{htonl(0xc0000201)}), loopback(0), 1}));
}

TEST(LineTest, CannotBeOpenedWithoutItsInterface) {
    EXPECT_FALSE(ConnectedSocket::open({loopback(0), loopback(1), 999'999}));
}

TEST(LinesTest, OneOfTwoRoutesThatTakeTurnsInAPlaceKeepsItsLine) {
    ConnectedSockets lines;
    std::vector<Route> routes;
    for (std::uint32_t host = 1; host <= 2 * ConnectedSockets::places; ++host) {
        routes.push_back({loopback(0), loopback(host), 1});
    }
    const auto ports = [&] {
        std::vector<std::uint16_t> found;
        for (const Route& route : routes) {
            const ConnectedSocket *connected = lines.use(route);
            found.push_back(connected ? connected->origin().source_udp_port : 0);
        }
        return found;
    };
    for (int round = 0; round < 10 * ConnectedSockets::uses_before_open; ++round) ports();

    const std::vector<std::uint16_t> settled = ports();

    const auto with = std::count_if(settled.begin(), settled.end(), [](int port) { return port; });
    EXPECT_LE(with, ConnectedSockets::places);
    EXPECT_GT(with, ConnectedSockets::places / 2);
    for (int round = 0; round < 100; ++round) EXPECT_EQ(ports(), settled);
}

TEST(LinesTest, ARouteThatWasClosedHasNoLine) {
    ConnectedSockets lines;
    for (int use = 0; use < ConnectedSockets::uses_before_open; ++use) lines.use(around);
    ASSERT_NE(lines.find(around), nullptr);
    lines.close(around);
    EXPECT_EQ(lines.find(around), nullptr);
    EXPECT_EQ(lines.use(around), nullptr);
}

}  // namespace
}  // namespace lanewise::verbs::port
