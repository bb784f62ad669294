// SPDX-License-Identifier: BSD-3-Clause
//
// What sockets of this part have in common: options, and what is said to the kernel beside a
// datagram.

#pragma once

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <span>

#include "verbs/port/address.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace lanewise::verbs::port {

template <typename Value>
bool set(int socket, int level, int name, const Value& value) {
    return setsockopt(socket, level, name, &value, sizeof value) == 0;
}

// Gives a socket a classic BPF program, by one of the options for it. The description of a program
// has padding, which the kernel is given as well.
inline bool attach(int socket, int option, std::span<sock_filter> program) {
    sock_fprog described;
    std::memset(&described, 0, sizeof described);
    described.len = static_cast<unsigned short>(program.size());
    described.filter = program.data();
    return set(socket, SOL_SOCKET, option, described);
}

// Room for control messages; zeroed only as far as it is written.
union Control {
    cmsghdr aligned;
    std::array<char, 256> bytes;
};

// A message of these pieces, which has room for control messages and none yet.
inline msghdr message_of(std::span<const iovec> pieces, Control& control) {
    msghdr message{};
    message.msg_iov = const_cast<iovec *>(pieces.data());
    message.msg_iovlen = pieces.size();
    message.msg_control = control.bytes.data();
    return message;
}

// Adds one at `next`, a place in the room that `message` has. The kernel is given its padding too.
template <typename Value>
void add_control(msghdr& message, cmsghdr *& next, int level, int type, const Value& value) {
    next->cmsg_level = level;
    next->cmsg_type = type;
    next->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(next), &value, sizeof value);
    std::memset(CMSG_DATA(next) + sizeof value, 0, CMSG_SPACE(sizeof value) - next->cmsg_len);
    message.msg_controllen += CMSG_SPACE(sizeof value);
    next = reinterpret_cast<cmsghdr *>(reinterpret_cast<char *>(next) + CMSG_SPACE(sizeof value));
}

// The address of a socket that speaks one family. A host may lack IPv6, and a connected socket that
// spoke IPv4 as a part of IPv6 would look up its route each time.
struct SocketAddress {
    union {
        sockaddr any;
        sockaddr_in ipv4;
        sockaddr_in6 ipv6;
    };
    socklen_t bytes = sizeof ipv6;

    SocketAddress(const Address& address, std::uint16_t udp_port, unsigned interface) : ipv6{} {
        if (!is_ipv4(address)) {
            ipv6.sin6_family = AF_INET6;
            ipv6.sin6_port = htons(udp_port);
            std::memcpy(ipv6.sin6_addr.s6_addr, address.data(), address.size());
            if (is_link_local(address)) ipv6.sin6_scope_id = interface;
            return;
        }
        ipv4 = {};
        ipv4.sin_family = AF_INET;
        ipv4.sin_port = htons(udp_port);
        std::memcpy(&ipv4.sin_addr, address.data() + 12, sizeof ipv4.sin_addr);
        bytes = sizeof ipv4;
    }
};

// The byte of the header of IP that has the class of service and the bits of congestion, for all
// packets of a socket, or for those of one message.
inline bool set_traffic_class(int socket, int family, int traffic_class) {
    return family == AF_INET ? set(socket, SOL_IP, IP_TOS, traffic_class)
                             : set(socket, SOL_IPV6, IPV6_TCLASS, traffic_class);
}
inline void add_traffic_class(msghdr& message, cmsghdr *& next, int family, int traffic_class) {
    const bool is_inet = family == AF_INET;
    add_control(message, next, is_inet ? SOL_IP : SOL_IPV6, is_inet ? IP_TOS : IPV6_TCLASS,
                traffic_class);
}

// Fragments are refused: they would not keep to the identifications that the ICRC covers.
inline bool forbid_fragments(int socket, int family) {
    const int discover = IP_PMTUDISC_DO;
    if (!set(socket, SOL_IP, IP_MTU_DISCOVER, discover)) return false;
    return family == AF_INET || set(socket, SOL_IPV6, IPV6_MTU_DISCOVER, discover);
}

// Room for several windows of packets. Root may have more than net.core.rmem_max allows.
inline void enlarge_buffer(int socket, int forced, int asked) {
    constexpr int bytes = 8 << 20;
    if (!set(socket, SOL_SOCKET, forced, bytes)) set(socket, SOL_SOCKET, asked, bytes);
}

}  // namespace lanewise::verbs::port
