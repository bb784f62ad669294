// SPDX-License-Identifier: BSD-3-Clause
//
// What sockets of this part have in common: options, and what is said to the kernel beside a
// datagram.

#pragma once

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

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

// Room for control messages; zeroed only as far as it is written.
union Control {
    cmsghdr aligned;
    std::array<char, 256> bytes;
};

// Adds one at `next`, a place in the room that `message` has.
template <typename Value>
void add_control(msghdr& message, cmsghdr *& next, int level, int type, const Value& value) {
    next->cmsg_level = level;
    next->cmsg_type = type;
    next->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(next), &value, sizeof value);
    message.msg_controllen += CMSG_SPACE(sizeof value);
    next = reinterpret_cast<cmsghdr *>(reinterpret_cast<char *>(next) + CMSG_SPACE(sizeof value));
}

// An address for a socket that speaks IPv6, and IPv4 as a part of it.
inline sockaddr_in6 socket_address(const Address& address, std::uint16_t udp_port,
                                   unsigned interface) {
    sockaddr_in6 made{};
    made.sin6_family = AF_INET6;
    made.sin6_port = htons(udp_port);
    std::memcpy(made.sin6_addr.s6_addr, address.data(), address.size());
    if (is_link_local(address)) made.sin6_scope_id = interface;
    return made;
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
