// SPDX-License-Identifier: BSD-3-Clause
//
// What a network interface is now, and a watch that says when any of it
// changed. The watch only wakes (rtnetlink multicast); the state is then read
// anew as a whole, so that a lost notice costs nothing but time.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "verbs/port/address.hpp"

namespace lanewise::verbs::port {

struct Interface {
    std::string name;
    unsigned index = 0;
    bool carrier = false;  // up, and something answers at the other end
    unsigned mtu_bytes = 0;
    std::array<std::uint8_t, 6> mac{};
    std::vector<Address> addresses;  // in a fixed order: IPv4, IPv6, IPv6 link-local

    bool operator==(const Interface&) const = default;
};

// The state of the interfaces called `names`, in that order. One that does not
// exist now has index 0 and no carrier.
std::vector<Interface> read_interfaces(std::span<const std::string> names);

// Readable whenever a link or an address of this network namespace changed.
Result<Descriptor> watch_interfaces();

// Empties a watch; true where it had something to say.
bool drain_watch(const Descriptor& watch);

}  // namespace lanewise::verbs::port
