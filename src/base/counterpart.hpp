// SPDX-License-Identifier: BSD-3-Clause
//
// The convention by which a host with two ports finds the other address of a peer: hosts number
// their ports alike, so wherever two addresses of this host differ, those of the peer differ in the
// same way.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lanewise {

using GidBytes = std::array<std::uint8_t, 16>;

// The address of the peer at `destination` that goes with `other`, another address of the host at
// `source`; none if the convention does not hold for it.
constexpr std::optional<GidBytes> counterpart(const GidBytes& source, const GidBytes& other,
                                              const GidBytes& destination) {
    if (destination == source) return other;  // to oneself
    GidBytes made = destination;
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (source[i] == other[i]) continue;
        if (destination[i] != source[i]) return std::nullopt;
        made[i] = other[i];
    }
    if (made == other) return std::nullopt;
    return made;
}

}  // namespace lanewise
