// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/listener.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "verbs/port/random.hpp"
#include "verbs/port/socket.hpp"
#include "verbs/port/steering.hpp"

namespace lanewise::verbs::port {
namespace {

using std::chrono::steady_clock;

// A process whose place is wrong asks at most this often.
constexpr auto ask_again_after = std::chrono::milliseconds(100);
// Places beyond the members announced: sockets of those who are just coming or going.
constexpr std::uint32_t places_more = 8;

struct Probe {
    std::array<std::uint8_t, 5> before{};
    std::array<std::uint8_t, 3> number{};
    std::uint32_t process = 0;
    std::uint32_t unused = 0;
    std::uint64_t nonce = 0;
};

// An address may be bound before it is usable: IPv6 looks for another owner first.
bool prepare(int number, int family) {
    const int yes = 1;
    const bool prepared = set(number, SOL_SOCKET, SO_REUSEPORT, yes) &&
                          forbid_fragments(number, family) &&
                          (family == AF_INET ? set(number, SOL_IP, IP_FREEBIND, yes)
                                             : set(number, SOL_IPV6, IPV6_FREEBIND, yes) &&
                                                   set(number, SOL_IPV6, IPV6_V6ONLY, yes));
    set(number, SOL_UDP, UDP_GRO, yes);
    if (family == AF_INET) {
        set(number, SOL_IP, IP_RECVTOS, yes);
        set(number, SOL_IP, IP_RECVTTL, yes);
    } else {
        set(number, SOL_IPV6, IPV6_RECVTCLASS, yes);
        set(number, SOL_IPV6, IPV6_RECVHOPLIMIT, yes);
    }
    enlarge_buffer(number, SO_RCVBUFFORCE, SO_RCVBUF);
    enlarge_buffer(number, SO_SNDBUFFORCE, SO_SNDBUF);
    return prepared;
}

Result<Descriptor> open_socket(const Home& home) {
    const int family = is_ipv4(home.address) ? AF_INET : AF_INET6;
    Descriptor made(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const SocketAddress own(home.address, roce_udp_port, home.interface);
    const bool is_bound =
        made && prepare(made.number(), family) && bind(made.number(), &own.any, own.bytes) == 0;
    if (is_bound) return made;
    const std::string_view remedy =
        errno == EADDRINUSE ? "; a device of another user or rdma_rxe holds it: use another "
                              "interface or address, or a network namespace"
                            : "";
    return Failure{LW_ERR_IO, fmt::format("cannot bind UDP port {} of {}: {}{}", roce_udp_port,
                                          text(home.address), std::strerror(errno), remedy)};
}

bool join_group(int number, const Home& home) {
    if (is_ipv4(home.address)) {
        ip_mreqn wanted{};
        std::memcpy(&wanted.imr_multiaddr, home.address.data() + 12, sizeof wanted.imr_multiaddr);
        wanted.imr_ifindex = static_cast<int>(home.interface);
        return set(number, SOL_IP, IP_ADD_MEMBERSHIP, wanted) &&
               set(number, SOL_IP, IP_MULTICAST_ALL, 0);
    }
    ipv6_mreq wanted{};
    std::memcpy(&wanted.ipv6mr_multiaddr, home.address.data(), home.address.size());
    wanted.ipv6mr_interface = home.interface;
    return set(number, SOL_IPV6, IPV6_JOIN_GROUP, wanted) &&
           set(number, SOL_IPV6, IPV6_MULTICAST_ALL, 0);
}

// What the kernel says beside a datagram. A value is an int, but the class of IPv4 a byte.
void read_control(msghdr& message, Listener::Arrived& arrived) {
    for (cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
        const auto is = [&](int level, int type) {
            return one->cmsg_level == level && one->cmsg_type == type;
        };
        int value = 0;
        std::memcpy(&value, CMSG_DATA(one), std::min(sizeof value, one->cmsg_len - CMSG_LEN(0)));
        if (is(SOL_UDP, UDP_GRO)) arrived.segment_bytes = static_cast<std::size_t>(value);
        if (is(SOL_IP, IP_TOS)) arrived.batch.traffic_class = *CMSG_DATA(one);
        if (is(SOL_IPV6, IPV6_TCLASS)) {
            arrived.batch.traffic_class = static_cast<std::uint8_t>(value);
        }
        if (is(SOL_IP, IP_TTL) || is(SOL_IPV6, IPV6_HOPLIMIT)) {
            arrived.batch.hop_limit = static_cast<std::uint8_t>(value);
        }
    }
}

void add_source(msghdr& message, cmsghdr *& next, const Route& route) {
    if (is_ipv4(route.source)) {
        in_pktinfo from{};
        from.ipi_ifindex = static_cast<int>(route.interface);
        std::memcpy(&from.ipi_spec_dst, route.source.data() + 12, sizeof from.ipi_spec_dst);
        add_control(message, next, SOL_IP, IP_PKTINFO, from);
        return;
    }
    in6_pktinfo from{};
    std::memcpy(from.ipi6_addr.s6_addr, route.source.data(), route.source.size());
    from.ipi6_ifindex = route.interface;
    add_control(message, next, SOL_IPV6, IPV6_PKTINFO, from);
}

}  // namespace

Result<Listener> Listener::open(const Home& home, std::uint32_t slot) {
    Result<Descriptor> socket = open_socket(home);
    if (!socket) return socket.failure();
    Listener listener(home, slot, std::move(*socket));
    listener.stand_at(static_cast<std::uint32_t>(read_members(listener.group()).size()));
    listener.ask_place();
    return listener;
}

Result<Listener> Listener::join(const Home& home) {
    Result<Descriptor> socket = open_socket(home);
    if (!socket) return socket.failure();
    if (!join_group(socket->number(), home)) {
        return Failure{LW_ERR_IO, fmt::format("cannot join the multicast group {}: {}",
                                              text(home.address), std::strerror(errno))};
    }
    Listener listener(home, 0, std::move(*socket));
    listener.answers_ = 1;
    return listener;
}

void Listener::close_in_child() const {
    close(socket_.number());
    if (announcement_) close(announcement_.number());
}

std::string Listener::group() const {
    const std::string address = text(home_.address);
    return is_link_local(home_.address) ? fmt::format("{}%{}", address, home_.interface) : address;
}

Sent Listener::send(const Departure& departure) {
    const Route& route = departure.route;
    SocketAddress to(route.destination, roce_udp_port, route.interface);
    Control control{};
    msghdr message = message_of(departure.pieces, control);
    message.msg_name = &to.any;
    message.msg_namelen = to.bytes;
    cmsghdr *next = &control.aligned;
    add_source(message, next, route);
    if (departure.segment_bytes > 0) {
        const auto segment = static_cast<std::uint16_t>(departure.segment_bytes);
        add_control(message, next, SOL_UDP, UDP_SEGMENT, segment);
    }
    if (departure.traffic_class != 0) {
        add_traffic_class(message, next, to.any.sa_family, departure.traffic_class);
    }
    if (sendmsg(socket(), &message, MSG_DONTWAIT) >= 0) return Sent::yes;
    return errno == EAGAIN || errno == ENOBUFS ? Sent::later : Sent::lost;
}

bool Listener::receive(std::span<std::byte> buffer, Arrived& arrived) {
    SocketAddress from(no_address, 0, 0);
    Control control{};
    iovec place{buffer.data(), buffer.size()};
    msghdr message = message_of({&place, 1}, control);
    message.msg_name = &from.any;
    message.msg_namelen = from.bytes;
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(socket(), &message, MSG_DONTWAIT);
    if (got < 0) return false;
    const bool is_inet = from.any.sa_family == AF_INET;
    arrived.batch = {
        .source = is_inet ? address_of(from.ipv4.sin_addr) : address_of(from.ipv6.sin6_addr),
        .destination = home_.address,
        .source_port = ntohs(from.ipv6.sin6_port),  // which stands where the one of IPv4 does
        .interface = home_.interface,
        .number = 0,
        .in_memory = false,
        .packet = buffer.first(static_cast<std::size_t>(got))};
    arrived.segment_bytes = 0;
    read_control(message, arrived);
    return true;
}

void Listener::ask_place() {
    asked_ = steady_clock::now();
    nonce_ = std::uint64_t{random_number()} << 32 | random_number();
    is_confirmed_ = false;
    const auto places = static_cast<std::uint32_t>(read_members(group()).size()) + places_more;
    const SocketAddress self(home_.address, roce_udp_port, home_.interface);
    for (std::uint32_t place = 0; place < places; ++place) {
        Probe probe;
        const std::uint32_t number = probe_number(place);
        probe.number = {static_cast<std::uint8_t>(number >> 16),
                        static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
        probe.process = slot_;
        probe.nonce = nonce_;
        sendto(socket(), &probe, sizeof probe, MSG_DONTWAIT, &self.any, self.bytes);
    }
}

bool Listener::may_ask_again() const {
    return steady_clock::now() - asked_ > ask_again_after;
}

void Listener::stand_at(std::uint32_t place) {
    if (!announcement_ || place != place_) {
        place_ = place;
        announcement_ = {};
        announcement_ = announce({slot_, place}, group());
    }
    ++tables_made_;
    attach_steering(socket(), read_members(group()));
}

// Anybody may send a probe, so one counts only if it came from this address with the number of the
// last question, and costs nothing where it tells nothing new.
bool Listener::take_answer(const Datagram& datagram) {
    const std::uint32_t number = destination_of(datagram.packet);
    if (!is_probe(number)) return false;
    Probe probe;
    if (datagram.source != home_.address || datagram.packet.size() != sizeof probe) return true;
    std::memcpy(&probe, datagram.packet.data(), sizeof probe);
    if (probe.process != slot_ || probe.nonce != nonce_) return true;
    // A probe for a place behind the last falls to any member, so of several answers the least is
    // true; and a place only ever becomes less, when the last of the group moves up.
    const std::uint32_t place = number - probe_number(0);
    const bool is_first = ++answers_ == 1;
    if (!is_first && (place > place_ || (place == place_ && is_confirmed_))) return true;
    is_confirmed_ = true;
    stand_at(place);
    return true;
}

}  // namespace lanewise::verbs::port
