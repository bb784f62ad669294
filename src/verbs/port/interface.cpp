// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/interface.hpp"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <tuple>

namespace lanewise::verbs::port {
namespace {

constexpr unsigned both_flags = IFF_UP | IFF_RUNNING;

unsigned mtu_of(const std::string& name) {
    const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    if (!any || ioctl(any.number(), SIOCGIFMTU, &request) != 0) return 0;
    return static_cast<unsigned>(request.ifr_mtu);
}

void add_address(Interface& interface, const sockaddr *address) {
    if (address->sa_family == AF_INET) {
        sockaddr_in inet{};
        std::memcpy(&inet, address, sizeof inet);
        interface.addresses.push_back(address_of(inet.sin_addr));
    } else if (address->sa_family == AF_INET6) {
        sockaddr_in6 inet6{};
        std::memcpy(&inet6, address, sizeof inet6);
        interface.addresses.push_back(address_of(inet6.sin6_addr));
    } else if (address->sa_family == AF_PACKET) {
        sockaddr_ll link{};
        std::memcpy(&link, address, sizeof link);
        std::copy_n(link.sll_addr, interface.mac.size(), interface.mac.begin());
    }
}

// The kernel lists addresses in the order in which they were made.
void sort_addresses(std::vector<Address>& addresses) {
    const auto rank = [](const Address& address) {
        if (is_link_local(address)) return 2;
        return is_ipv4(address) ? 0 : 1;
    };
    std::stable_sort(addresses.begin(), addresses.end(),
                     [&](const Address& a, const Address& b) { return rank(a) < rank(b); });
}

}  // namespace

std::vector<Interface> read_interfaces(std::span<const std::string> names) {
    ifaddrs *listed = nullptr;
    if (getifaddrs(&listed) != 0) listed = nullptr;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned(listed, freeifaddrs);

    std::vector<Interface> found;
    for (const std::string& name : names) {
        Interface interface {
            .name = name, .mac = {}, .addresses = {}
        };
        for (const ifaddrs *entry = listed; entry; entry = entry->ifa_next) {
            if (name != entry->ifa_name) continue;
            interface.carrier = (entry->ifa_flags & both_flags) == both_flags;
            if (entry->ifa_addr) add_address(interface, entry->ifa_addr);
        }
        interface.index = if_nametoindex(name.c_str());
        interface.mtu_bytes = mtu_of(name);
        sort_addresses(interface.addresses);
        found.push_back(std::move(interface));
    }
    return found;
}

Result<Descriptor> watch_interfaces() {
    Descriptor watch(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    sockaddr_nl groups{};
    groups.nl_family = AF_NETLINK;
    groups.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
    if (!watch ||
        bind(watch.number(), reinterpret_cast<const sockaddr *>(&groups), sizeof groups) != 0) {
        return Failure{LW_ERR_IO,
                       std::string("cannot watch the interfaces: ") + std::strerror(errno)};
    }
    return watch;
}

bool drain_watch(const Descriptor& watch) {
    std::array<char, 8192> notice{};
    bool any = false;
    for (;;) {
        const ssize_t got = recv(watch.number(), notice.data(), notice.size(), MSG_DONTWAIT);
        // ENOBUFS: notices were lost, which is news as well.
        if (got < 0 && errno != ENOBUFS) return any;
        any = true;
    }
}

}  // namespace lanewise::verbs::port
