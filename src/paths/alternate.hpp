// SPDX-License-Identifier: BSD-3-Clause
//
// Specify (PSM of Vishnu et al. 2007, section 3.1.1): the alternate of a queue pair, where the
// caller has none. The most disjoint comes first: another port, then other LMC bits, then another
// GID.
//
// The peer's end comes from the path file; without one, from a convention: hosts number their
// ports alike, so wherever the addresses of two local ports differ, the peer's differ in the same
// way. From 10.1.0.1 on port 1 to 10.1.0.2, with 10.1.1.1 on port 2, leads to 10.1.1.2. Where the
// convention says nothing (10.1.1.7 on port 2) there is no alternate, rather than a wrong one.

#pragma once

#include <optional>
#include <span>

#include "base/counterpart.hpp"
#include "base/result.hpp"
#include "paths/directory.hpp"
#include "paths/route.hpp"

namespace lanewise::paths {

// The peer's end of the route that starts at `other`, where one starts at `source` and ends at
// `destination`: for GIDs, and for LIDs.
using lanewise::counterpart;
std::optional<std::uint16_t> counterpart(std::uint16_t source, std::uint16_t other,
                                         std::uint16_t destination);

// The alternate to `primary`, with room for packets of `mtu_bytes`, on ports that are active; a
// failure says what is missing. `directory` may be null.
Result<Route> choose_alternate(const Route& primary, std::span<const Port> ports,
                               unsigned mtu_bytes, const Directory *directory);

// LW_OK where `alternate` can stand beside `primary`: not the same, on a port there is, with the
// same MTU.
Outcome check_alternate(const Route& primary, const Route& alternate, std::span<const Port> ports,
                        unsigned mtu_bytes);

}  // namespace lanewise::paths
