// SPDX-License-Identifier: BSD-3-Clause
//
// Socket addresses as the addresses of packets, and back.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "verbs/cm/abi/objects.hpp"
#include "verbs/port/address.hpp"

namespace lanewise::verbs::cm {

std::optional<Name> name_of(const sockaddr *address) {
    if (!address) return std::nullopt;
    if (address->sa_family == AF_INET) {
        sockaddr_in inet{};
        std::memcpy(&inet, address, sizeof inet);
        const bool any = inet.sin_addr.s_addr == INADDR_ANY;
        return Name{any ? no_address : port::address_of(inet.sin_addr), ntohs(inet.sin_port)};
    }
    if (address->sa_family == AF_INET6) {
        sockaddr_in6 inet6{};
        std::memcpy(&inet6, address, sizeof inet6);
        return Name{port::address_of(inet6.sin6_addr), ntohs(inet6.sin6_port)};
    }
    return std::nullopt;
}

void write_name(const Name& name, sockaddr_storage& into) {
    const bool keeps_family = name.address == no_address && into.ss_family != 0;
    const bool ipv4 = keeps_family ? into.ss_family == AF_INET
                                   : name.address == no_address || is_ipv4(name.address);
    into = {};
    if (ipv4) {
        auto& inet = reinterpret_cast<sockaddr_in&>(into);
        inet.sin_family = AF_INET;
        inet.sin_port = htons(name.port);
        std::memcpy(&inet.sin_addr, name.address.data() + 12, sizeof inet.sin_addr);
        return;
    }
    auto& inet6 = reinterpret_cast<sockaddr_in6&>(into);
    inet6.sin6_family = AF_INET6;
    inet6.sin6_port = htons(name.port);
    std::memcpy(&inet6.sin6_addr, name.address.data(), sizeof inet6.sin6_addr);
}

bool is_any(const Address& address) {
    return address == no_address;
}

bool is_loopback(const Address& address) {
    if (is_ipv4(address)) return address[12] == 127;
    Address one{};
    one.back() = 1;
    return address == one;
}

// The kernel knows: a datagram socket that is connected sends nothing.
std::optional<Address> source_towards(const sockaddr *remote) {
    const Descriptor any(socket(remote->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage to{};
    const socklen_t bytes =
        remote->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&to, remote, bytes);
    reinterpret_cast<sockaddr_in&>(to).sin_port = htons(roce_udp_port);  // where IPv6 has it, too
    socklen_t length = sizeof to;
    if (!any || connect(any.number(), reinterpret_cast<sockaddr *>(&to), bytes) != 0 ||
        getsockname(any.number(), reinterpret_cast<sockaddr *>(&to), &length) != 0) {
        return std::nullopt;
    }
    const std::optional<Name> found = name_of(reinterpret_cast<sockaddr *>(&to));
    if (found && !is_any(found->address)) return found->address;
    errno = ENETUNREACH;
    return std::nullopt;
}

}  // namespace lanewise::verbs::cm
