// SPDX-License-Identifier: BSD-3-Clause
//
// A port as verbs show it: an interface, and the table of its GIDs. Pure.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "verbs/abi/config.hpp"
#include "verbs/port/interface.hpp"
#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::abi {

inline constexpr std::size_t gid_table_length = 16;
using GidTable = std::array<Address, gid_table_length>;  // no_address where an entry is free

// `table` for an interface that now has `addresses`: those that stay keep their index, new ones
// take the first that is free. Without carrier addresses stay, as they do in the kernel.
GidTable updated(const GidTable& table, std::span<const Address> addresses);

struct Port {
    port::Interface interface;
    GidTable gids{};
    bool active = false;  // has a carrier, and an address to be reached at

    bool operator==(const Port&) const = default;
};

// What an interface has become; entries of the GID table keep their index.
Port updated(const Port& port, port::Interface found);

// The largest path MTU whose packets fit into the interface's. 80 bytes of headers are set aside,
// as Linux does: IPv6, UDP, BTH, RETH or AtomicETH, ICRC.
Mtu active_mtu(unsigned interface_mtu_bytes);

// The same for a port, which may be held to less.
Mtu active_mtu(const Port& port, const Config& config);

// The number of the port that has `address`, from 1.
std::optional<std::uint8_t> port_of(std::span<const Port> ports, const Address& address);

// The way to the same peer over the other of two ports, if the addresses of the peer differ as ours
// do (base/counterpart.hpp).
std::optional<AddressVector> other_way(std::span<const Port> ports, const AddressVector& way);

// LIDs, for programs that speak InfiniBand. The LID of an address is what is left of it below the
// network mask of /16, shifted by the mask bits (LMC), so every peer derives the same map with
// nothing written down; or the plan gives it. All 2^LMC LIDs of a port lead to the same address.
std::uint16_t lid_of(const Port& port, const LidPlan& plan);
std::optional<Address> address_of_lid(const Port& port, std::uint16_t lid, const LidPlan& plan);

}  // namespace lanewise::verbs::abi
