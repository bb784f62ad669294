// SPDX-License-Identifier: BSD-3-Clause
//
// The invariant CRC of RoCEv2 (annex A17 of IBA 1): the CRC-32 of Ethernet over eight bytes of ones
// (a local route header that is not there), the IP and UDP headers with the fields that routers
// change set to ones, the base transport header with its reserved byte set to ones, and all that
// follows. It stands behind the payload, lowest byte first.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs {

// What the IP and UDP headers of a datagram say, as far as the ICRC covers it.
struct IcrcAddresses {
    Address source = no_address;
    Address destination = no_address;
    std::uint16_t source_udp_port = 0;
};

// Bytes of a datagram, `at` bytes from its beginning, whose CRC-32 was made when they were copied:
// the state 0 becomes `state` after them.
struct CheckedPayload {
    std::size_t at = 0;
    std::size_t bytes = 0;
    std::uint32_t state = 0;
};

// Writes the ICRC into the last four bytes of `datagram`.
void seal(std::span<std::byte> datagram, const IcrcAddresses& addresses, std::uint16_t ip_id,
          const CheckedPayload& payload = {});

// Whether the last four bytes are the ICRC of the rest. Where the identification of the IPv4
// header is not known, those 16 bits of the ICRC that it can change count as right.
bool intact(std::span<const std::byte> datagram, const Arrival& from);

// The identification for which the ICRC of a datagram from IPv4 holds; the one that is known or
// supposed where none does.
std::uint16_t likely_ip_id(std::span<const std::byte> datagram, const Arrival& from);

}  // namespace lanewise::verbs
