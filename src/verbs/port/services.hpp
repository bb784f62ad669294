// SPDX-License-Identifier: BSD-3-Clause
//
// Which process a packet to queue pair 1 is for. All processes on an address have that queue pair
// together: the connection managers of the standard speak through it. Its messages name a
// connection of the receiver, whose number begins with the slot of the process; or, before there is
// one, a service, and whoever has bound the unix socket of that name takes it. As in slot.hpp the
// kernel frees the name when the process dies.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "verbs/port/address.hpp"
#include "verbs/port/slot.hpp"

namespace lanewise::verbs::port {

inline constexpr std::uint32_t services_qpn = 1;
inline constexpr unsigned connection_bits = 32 - slot_bits;

// Connections of the process with this slot are numbered from here on.
constexpr std::uint32_t first_connection(std::uint32_t slot) {
    return slot << connection_bits;
}

// Where most messages have the number of the receiver's connection: behind the base header, that of
// datagrams, the one of management datagrams and the sender's number (IBA 1, 13.4.2 and 12.6).
inline constexpr std::uint32_t connection_offset = 12 + 8 + 24 + 4;

// Where a message is to be handed in: at a process, or at whoever offers a service.
struct Addressee {
    std::uint32_t slot = 0;  // 0: it is for a service
    std::uint64_t service = 0;
};

// None where the packet is too short to name anybody.
std::optional<Addressee> addressee_of(std::span<const std::byte> packet);

// The name of a service at an address, or at all of this host for no_address.
std::string service_name(std::uint64_t service, const Address& address);

// Whether a list of sockets, such as /proc/net/unix, has the service elsewhere where this address
// would be meant as well: at all of this host, or for no_address anywhere.
bool is_offered_beside(const std::string& listing, std::uint64_t service, const Address& address);

// The name of the process that answers for services that nobody offers.
inline constexpr const char *any_service_name = "lanewise-hca/service/any";

}  // namespace lanewise::verbs::port
