// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/connected_socket.hpp"

#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

#include "verbs/port/socket.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::port {
namespace {

constexpr std::uint16_t discard_udp_port = 9;  // RFC 863

// Everything for this route comes to the wire's own socket.
bool receive_nothing(int socket) {
    sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
    return attach(socket, SO_ATTACH_FILTER, {&drop, 1});
}

bool bind_to(int socket, const Route& route) {
    std::array<char, IF_NAMESIZE> name{};
    if (!if_indextoname(route.interface, name.data())) return false;
    if (!set(socket, SOL_SOCKET, SO_BINDTODEVICE, name)) return false;
    const SocketAddress own(route.source, 0, route.interface);
    return bind(socket, &own.any, own.bytes) == 0;
}

bool connect_to(int socket, const Route& route) {
    const SocketAddress peer(route.destination, roce_udp_port, route.interface);
    return connect(socket, &peer.any, peer.bytes) == 0;
}

std::uint16_t port_of(int socket) {
    SocketAddress own(no_address, 0, 0);
    getsockname(socket, &own.any, &own.bytes);
    return ntohs(own.ipv6.sin6_port);  // which stands where the one of IPv4 does
}

// The identification in a packet that came back: over the loopback interface, which has headers
// like Ethernet's.
std::optional<std::uint16_t> identification_in(std::span<const std::uint8_t> frame) {
    constexpr std::size_t link_bytes = 14;
    constexpr std::size_t header_bytes = 20;
    constexpr std::uint8_t version_and_length = 0x45;
    constexpr std::uint8_t do_not_fragment = 0x40;
    if (frame.size() < link_bytes + header_bytes) return std::nullopt;
    const auto header = frame.subspan(link_bytes, header_bytes);
    if (header[0] != version_and_length || header[6] != do_not_fragment) return std::nullopt;
    if (header[9] != IPPROTO_UDP) return std::nullopt;
    return static_cast<std::uint16_t>(header[4] << 8 | header[5]);
}

// Sends one byte, or a batch of two, to this host itself, and reads how the kernel numbered it.
std::optional<std::uint16_t> numbered(int socket, const Route& route, std::size_t bytes) {
    SocketAddress to(route.source, discard_udp_port, route.interface);
    std::array<std::uint8_t, 2> payload{};
    iovec piece{payload.data(), bytes};
    Control control{};
    msghdr message = message_of({&piece, 1}, control);
    message.msg_name = &to.any;
    message.msg_namelen = to.bytes;
    cmsghdr *next = &control.aligned;
    add_control(message, next, SOL_SOCKET, SO_TIMESTAMPING,
                std::uint32_t{SOF_TIMESTAMPING_TX_SCHED});
    if (bytes > 1) add_control(message, next, SOL_UDP, UDP_SEGMENT, std::uint16_t{1});
    if (sendmsg(socket, &message, MSG_DONTWAIT) < 0) return std::nullopt;

    std::array<std::uint8_t, 128> frame{};
    iovec place{frame.data(), frame.size()};
    msghdr returned{};
    returned.msg_iov = &place;
    returned.msg_iovlen = 1;
    const ssize_t got = recvmsg(socket, &returned, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (got < 0) return std::nullopt;
    return identification_in(std::span(frame).first(static_cast<std::size_t>(got)));
}

// Where the count will stand; nothing where a batch moves it by anything but one.
std::optional<std::uint16_t> next_identification(int socket, const Route& route) {
    const auto first = numbered(socket, route, 2);
    const auto second = numbered(socket, route, 1);
    if (!first || !second) return std::nullopt;
    if (static_cast<std::uint16_t>(*first + 1) != *second) return std::nullopt;
    return static_cast<std::uint16_t>(*second + 1);
}

// Each use by another route costs one: of up to four that alternate in a place, one keeps it.
constexpr int credit_of_use = 4;
constexpr int credit_max = 256;

}  // namespace

std::optional<ConnectedSocket> ConnectedSocket::open(const Route& route) {
    const int family = is_ipv4(route.destination) ? AF_INET : AF_INET6;
    Descriptor made(socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int number = made.number();
    if (!made || !receive_nothing(number) || !forbid_fragments(number, family)) return std::nullopt;
    if (!bind_to(number, route) || !connect_to(number, route)) return std::nullopt;
    enlarge_buffer(number, SO_SNDBUFFORCE, SO_SNDBUF);
    std::uint16_t ip_id = 0;
    if (family == AF_INET) {
        const auto next = next_identification(number, route);
        if (!next) return std::nullopt;
        ip_id = *next;
    }
    return ConnectedSocket(std::move(made), {port_of(number), ip_id}, family);
}

Sent ConnectedSocket::send(std::span<const iovec> pieces, std::size_t segment_bytes,
                           std::uint8_t traffic_class) {
    if (!traffic_class_ && set_traffic_class(socket_.number(), family_, traffic_class)) {
        traffic_class_ = traffic_class;
    }
    Control control;
    msghdr message = message_of(pieces, control);
    cmsghdr *next = &control.aligned;
    if (segment_bytes > 0) {
        add_control(message, next, SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(segment_bytes));
    }
    if (traffic_class_ != traffic_class) add_traffic_class(message, next, family_, traffic_class);
    if (message.msg_controllen == 0) message.msg_control = nullptr;
    ssize_t sent = sendmsg(socket_.number(), &message, MSG_DONTWAIT);
    // The error is that of an earlier packet, and this one was not sent.
    if (sent < 0 && errno == ECONNREFUSED) sent = sendmsg(socket_.number(), &message, MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN ? Sent::later : Sent::lost;
    ++origin_.ip_id;
    return Sent::yes;
}

// Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4).
ConnectedSockets::Place& ConnectedSockets::place_of(const Route& route) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    constexpr int shift = 64 - std::bit_width(unsigned{places - 1});
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), route.source.data(), sizeof route.source);
    std::memcpy(words.data() + 2, route.destination.data(), sizeof route.destination);
    std::uint64_t sum = route.interface;
    for (const std::uint64_t word : words) sum = std::rotl(sum, 13) ^ word;
    return places_[sum * golden >> shift];
}

ConnectedSocket *ConnectedSockets::find(const Route& route) {
    Place& place = place_of(route);
    return place.socket && place.route == route ? &*place.socket : nullptr;
}

ConnectedSocket *ConnectedSockets::use(const Route& route) {
    Place& place = place_of(route);
    if (place.route != route) {
        if (--place.credit > 0) return nullptr;
        place = {};
        place.route = route;
    }
    place.credit = std::min(place.credit + credit_of_use, credit_max);
    ++place.uses;
    // A route that cannot have a socket is not tried again before it has lost its place.
    if (place.uses == uses_before_open) place.socket = ConnectedSocket::open(route);
    return place.socket ? &*place.socket : nullptr;
}

void ConnectedSockets::close(const Route& route) {
    Place& place = place_of(route);
    if (place.route == route) place = {};
}

}  // namespace lanewise::verbs::port
