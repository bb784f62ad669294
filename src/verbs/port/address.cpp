// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace lanewise::verbs::port {
namespace {

constexpr std::array<std::uint8_t, 12> ipv4_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

Address address_of(const in_addr& address) {
    Address made{};
    std::copy(ipv4_prefix.begin(), ipv4_prefix.end(), made.begin());
    std::memcpy(made.data() + ipv4_prefix.size(), &address.s_addr, sizeof address.s_addr);
    return made;
}

Address address_of(const in6_addr& address) {
    Address made{};
    std::memcpy(made.data(), address.s6_addr, made.size());
    return made;
}

bool is_link_local(const Address& address) {
    return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

std::string text(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> written{};
    if (is_ipv4(address)) {
        inet_ntop(AF_INET, address.data() + ipv4_prefix.size(), written.data(), written.size());
    } else {
        inet_ntop(AF_INET6, address.data(), written.data(), written.size());
    }
    return written.data();
}

}  // namespace lanewise::verbs::port
