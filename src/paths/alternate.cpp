// SPDX-License-Identifier: BSD-3-Clause

#include "paths/alternate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::paths {
namespace {

const Port *port_numbered(std::span<const Port> ports, std::uint8_t number) {
    const auto found = std::find_if(ports.begin(), ports.end(),
                                    [&](const Port& port) { return port.number == number; });
    return found == ports.end() ? nullptr : &*found;
}

bool same_kind(const Gid& a, const Gid& b) {
    return is_ipv4(a) == is_ipv4(b) && is_link_local(a) == is_link_local(b);
}

GidType type_at(const Port& port, std::uint8_t index) {
    const auto found = std::find_if(port.gids.begin(), port.gids.end(),
                                    [&](const GidEntry& entry) { return entry.index == index; });
    return found == port.gids.end() ? GidType::unknown : found->type;
}

std::optional<Route> by_gid(const Route& primary, const Port& home, const Port& port,
                            const Directory *directory) {
    const GidType type = type_at(home, primary.source_index);
    for (const GidEntry& entry : port.gids) {
        if (entry.gid == primary.source || !may_meet(entry.type, type)) continue;
        if (!same_kind(entry.gid, primary.source)) continue;
        const auto destination = directory
                                     ? directory->peer_gid(primary.destination, entry.gid)
                                     : counterpart(primary.source, entry.gid, primary.destination);
        if (!destination) continue;
        Route made = primary;
        made.port = port.number;
        made.source_index = entry.index;
        made.source = entry.gid;
        made.destination = *destination;
        return made;
    }
    return std::nullopt;
}

std::optional<Route> by_lid(const Route& primary, const Port& home, const Port& port,
                            const Directory *directory) {
    const auto destination = directory ? directory->peer_lid(primary.destination_lid, port.lid)
                                       : counterpart(home.lid, port.lid, primary.destination_lid);
    if (!destination) return std::nullopt;
    Route made = primary;
    made.port = port.number;
    made.source_bits = 0;
    made.destination_lid = *destination;
    return made;
}

// The next of the LIDs that both ends answer to, as MVAPICH2 and Open MPI walk them.
std::optional<Route> by_mask(const Route& primary, const Port& port) {
    if (port.lid_mask_bits == 0) return std::nullopt;
    const unsigned mask = (1U << port.lid_mask_bits) - 1;
    Route made = primary;
    made.source_bits = static_cast<std::uint8_t>((primary.source_bits + 1U) & mask);
    const unsigned kept = primary.destination_lid & ~mask;
    made.destination_lid =
        static_cast<std::uint16_t>(kept | ((primary.destination_lid + 1U) & mask));
    return made;
}

std::optional<Route> on_port(const Route& primary, const Port& home, const Port& port,
                             const Directory *directory) {
    if (primary.is_global) return by_gid(primary, home, port, directory);
    if (port.number == home.number) return by_mask(primary, home);
    return by_lid(primary, home, port, directory);
}

}  // namespace

std::optional<std::uint16_t> counterpart(std::uint16_t source, std::uint16_t other,
                                         std::uint16_t destination) {
    if (destination == source) return other;
    const unsigned differs = source ^ other;
    if ((destination & differs) != (source & differs)) return std::nullopt;
    const auto made = static_cast<std::uint16_t>(destination ^ differs);
    if (made == 0 || made == other) return std::nullopt;
    return made;
}

Result<Route> choose_alternate(const Route& primary, std::span<const Port> ports,
                               unsigned mtu_bytes, const Directory *directory) {
    const Port *home = port_numbered(ports, primary.port);
    if (!home) {
        return Failure{LW_ERR_NOT_FOUND, fmt::format("the device has no port {}", primary.port)};
    }
    std::string missing =
        "the device has one port, and it has neither a second GID that fits nor "
        "LMC bits";
    for (const bool elsewhere : {true, false}) {
        for (const Port& port : ports) {
            if ((port.number != home->number) != elsewhere) continue;
            const std::optional<Route> route = on_port(primary, *home, port, directory);
            if (!route) {
                if (!elsewhere) continue;
                missing = fmt::format(
                    "{} the peer's address that goes with port {}; write a path file with: "
                    "lanewise rdma discover",
                    directory ? "the path file does not name" : "no convention gives", port.number);
            } else if (!port.active) {
                missing = fmt::format("port {} is down", port.number);
            } else if (const Outcome fits = check_alternate(primary, *route, ports, mtu_bytes);
                       !fits) {
                missing = fits.failure().sentence;
            } else {
                return *route;
            }
        }
    }
    return Failure{LW_ERR_NOT_FOUND, missing};
}

Outcome check_alternate(const Route& primary, const Route& alternate, std::span<const Port> ports,
                        unsigned mtu_bytes) {
    const Port *port = port_numbered(ports, alternate.port);
    if (!port) {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("the alternate names port {}, which the device does not have",
                                   alternate.port)};
    }
    if (alternate == primary) {
        return Failure{LW_ERR_ARGUMENT, "the alternate equals the primary path"};
    }
    if (port->mtu_bytes < mtu_bytes) {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("port {} carries {} bytes a packet and the queue pair needs {}",
                                   port->number, port->mtu_bytes, mtu_bytes)};
    }
    return Done{};
}

}  // namespace lanewise::paths
