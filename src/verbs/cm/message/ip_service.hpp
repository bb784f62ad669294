// SPDX-License-Identifier: BSD-3-Clause
//
// The RDMA IP CM service (IBA 1, annex A11): which service has a port number, and the header in the
// private data of a request that says between which IP addresses and ports the connection is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbs/cm/message/message.hpp"
#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::cm {

inline constexpr std::size_t ip_header_bytes = 36;

constexpr std::uint64_t ip_service(unsigned port_space, std::uint16_t port) {
    return std::uint64_t{port_space} << 16 | port;
}

struct IpHeader {
    Address source = no_address;  // IPv4 addresses mapped into IPv6
    Address destination = no_address;
    std::uint16_t source_port = 0;
};

// The header, and behind it what the program has to say.
Bytes with_ip_header(const IpHeader& header, std::span<const std::byte> private_data);

// None where the private data begins with no such header.
std::optional<IpHeader> ip_header_of(std::span<const std::byte> private_data);

}  // namespace lanewise::verbs::cm
