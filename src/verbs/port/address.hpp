// SPDX-License-Identifier: BSD-3-Clause
//
// IP addresses of the kernel as the addresses of packets, and as text.

#pragma once

#include <netinet/in.h>

#include <string>

#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::port {

Address address_of(const in_addr& address);
Address address_of(const in6_addr& address);

// fe80::/10: means something only together with an interface.
bool is_link_local(const Address& address);

// 10.0.0.1 or fe80::1.
std::string text(const Address& address);

}  // namespace lanewise::verbs::port
