// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port/socket.hpp"

namespace lanewise::verbs::port {

sockaddr_in6 socket_address(const Address& address, std::uint16_t udp_port, unsigned interface) {
    sockaddr_in6 made{};
    made.sin6_family = AF_INET6;
    made.sin6_port = htons(udp_port);
    std::memcpy(made.sin6_addr.s6_addr, address.data(), address.size());
    if (is_link_local(address)) made.sin6_scope_id = interface;
    return made;
}

bool forbid_fragments(int socket, int family) {
    const int discover = IP_PMTUDISC_DO;
    if (!set(socket, SOL_IP, IP_MTU_DISCOVER, discover)) return false;
    return family == AF_INET || set(socket, SOL_IPV6, IPV6_MTU_DISCOVER, discover);
}

void enlarge_buffer(int socket, int forced, int asked) {
    constexpr int bytes = 8 << 20;
    if (!set(socket, SOL_SOCKET, forced, bytes)) set(socket, SOL_SOCKET, asked, bytes);
}

}  // namespace lanewise::verbs::port
