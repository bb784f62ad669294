// SPDX-License-Identifier: BSD-3-Clause
//
// A message as the payload of a UDP datagram to port 4791: an unreliable datagram from one queue
// pair 1 to another (IBA 1, 13.5.1; annex A17).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "verbs/cm/message/message.hpp"
#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::cm {

struct Endpoints {
    Address source = no_address;
    Address destination = no_address;

    bool operator==(const Endpoints&) const = default;
};

// Sealed for the port 4791 as source, and an IPv4 identification of 0.
Bytes datagram_of(const Message& message, const Endpoints& ends, std::uint32_t psn);

// None where it is no intact datagram between queue pairs 1, or its payload no message.
std::optional<Message> message_of(std::span<const std::byte> datagram, const Arrival& from);

}  // namespace lanewise::verbs::cm
