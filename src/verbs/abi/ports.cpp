// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/ports.hpp"

#include <algorithm>
#include <utility>

#include "base/counterpart.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr unsigned headers_reserved_bytes = 80;
// 0xc000 and above are multicast LIDs.
constexpr std::uint16_t lid_mask = 0x3fff;

std::optional<Address> ipv4_of(const Port& port) {
    const auto found = std::find_if(port.gids.begin(), port.gids.end(),
                                    [](const Address& gid) { return is_ipv4(gid); });
    if (found == port.gids.end()) return std::nullopt;
    return *found;
}

}  // namespace

GidTable updated(const GidTable& table, std::span<const Address> addresses) {
    GidTable next = table;
    const auto is_gone = [&](const Address& gid) {
        return std::find(addresses.begin(), addresses.end(), gid) == addresses.end();
    };
    std::replace_if(next.begin(), next.end(), is_gone, no_address);
    for (const Address& address : addresses) {
        if (std::find(next.begin(), next.end(), address) != next.end()) continue;
        const auto free = std::find(next.begin(), next.end(), no_address);
        if (free != next.end()) *free = address;
    }
    return next;
}

Port updated(const Port& port, port::Interface found) {
    Port next{std::move(found), {}, false};
    next.gids = updated(port.gids, next.interface.addresses);
    next.active = next.interface.carrier && !next.interface.addresses.empty();
    return next;
}

Mtu active_mtu(unsigned interface_mtu_bytes) {
    for (const Mtu mtu : {Mtu::b4096, Mtu::b2048, Mtu::b1024, Mtu::b512}) {
        if (mtu_bytes(mtu) + headers_reserved_bytes <= interface_mtu_bytes) return mtu;
    }
    return Mtu::b256;
}

Mtu active_mtu(const Port& port, const Config& config) {
    return std::min(active_mtu(port.interface.mtu_bytes), config.mtu_max);
}

std::optional<std::uint8_t> port_of(std::span<const Port> ports, const Address& address) {
    if (address == no_address) return std::nullopt;
    for (std::size_t index = 0; index < ports.size(); ++index) {
        const GidTable& gids = ports[index].gids;
        if (std::find(gids.begin(), gids.end(), address) != gids.end()) {
            return static_cast<std::uint8_t>(index + 1);
        }
    }
    return std::nullopt;
}

std::optional<AddressVector> other_way(std::span<const Port> ports, const AddressVector& way) {
    if (ports.size() != 2 || is_multicast(way.destination)) return std::nullopt;
    AddressVector made = way;
    made.port = way.port == 1 ? 2 : 1;
    for (const Address& gid : ports[made.port - 1U].gids) {
        if (gid == no_address || is_ipv4(gid) != is_ipv4(way.source) ||
            port::is_link_local(gid) != port::is_link_local(way.source)) {
            continue;
        }
        const auto destination = counterpart(way.source, gid, way.destination);
        if (!destination) continue;
        made.source = gid;
        made.destination = *destination;
        return made;
    }
    return std::nullopt;
}

std::uint16_t lid_of(const Port& port, const LidPlan& plan) {
    const std::optional<Address> address = ipv4_of(port);
    if (!address) return 0;
    if (!plan.given.empty()) {
        const auto found = std::find_if(plan.given.begin(), plan.given.end(),
                                        [&](const auto& one) { return one.address == *address; });
        return found == plan.given.end() ? std::uint16_t{0} : found->lid;
    }
    const unsigned low = (*address)[14] * 256U + (*address)[15];
    return static_cast<std::uint16_t>((low << plan.mask_bits) & lid_mask);
}

std::optional<Address> address_of_lid(const Port& port, std::uint16_t lid, const LidPlan& plan) {
    if (!plan.given.empty()) {
        const auto found = std::find_if(plan.given.begin(), plan.given.end(), [&](const auto& one) {
            return one.lid >> plan.mask_bits == lid >> plan.mask_bits;
        });
        return found == plan.given.end() ? std::nullopt : std::optional(found->address);
    }
    std::optional<Address> address = ipv4_of(port);
    if (!address) return std::nullopt;
    const unsigned mask = static_cast<unsigned>(lid_mask) >> plan.mask_bits;
    const unsigned kept = ((*address)[14] * 256U + (*address)[15]) & ~mask;
    const unsigned low = kept | (static_cast<unsigned>(lid & lid_mask) >> plan.mask_bits);
    (*address)[14] = static_cast<std::uint8_t>(low >> 8);
    (*address)[15] = static_cast<std::uint8_t>(low);
    return address;
}

}  // namespace lanewise::verbs::abi
