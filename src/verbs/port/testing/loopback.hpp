// SPDX-License-Identifier: BSD-3-Clause
//
// Addresses of the loopback network that no other process uses, so that tests beside each other,
// and devices of other programs, do not hear each other.

#pragma once

#include <netinet/in.h>
#include <unistd.h>

#include <cstdint>

namespace lanewise::verbs::port::testing {

// 127.x.y.z by the number of the process, with the last bits for `which`, below 4.
inline in_addr own_loopback(std::uint32_t which = 0) {
    constexpr std::uint32_t first = 0x7f010000;
    return {htonl(first + 4 * (static_cast<std::uint32_t>(getpid()) % 0x3f0000) + which)};
}

}  // namespace lanewise::verbs::port::testing
