// SPDX-License-Identifier: BSD-3-Clause
//
// A route: where the packets of a queue pair leave and arrive, by GIDs (RoCE) or by LIDs
// (InfiniBand); and the ports of a device that routes can start from. Values only.

#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lanewise::paths {

using Gid = std::array<std::uint8_t, 16>;

constexpr bool is_ipv4(const Gid& gid) {
    for (unsigned i = 0; i < 10; ++i) {
        if (gid[i] != 0) return false;
    }
    return gid[10] == 0xff && gid[11] == 0xff;
}

constexpr bool is_link_local(const Gid& gid) {
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

struct Route {
    std::uint8_t port = 0;
    bool is_global = false;  // by GIDs; otherwise by LIDs
    std::uint8_t source_index = 0;
    Gid source{};
    Gid destination{};
    std::uint8_t source_bits = 0;  // added to the LID of the port (LMC)
    std::uint16_t destination_lid = 0;

    bool operator==(const Route&) const = default;
};

// How packets from a GID look on the wire. An adapter may have the same address once for each type,
// and both ends of a path need the same.
enum class GidType : std::uint8_t { unknown, infiniband, roce_v1, roce_v2 };

// Where a type is not known, as with an old libibverbs, the addresses alone decide.
constexpr bool may_meet(GidType a, GidType b) {
    return a == b || a == GidType::unknown || b == GidType::unknown;
}

struct GidEntry {
    std::uint8_t index = 0;
    Gid gid{};
    GidType type = GidType::unknown;
};

struct Port {
    std::uint8_t number = 0;
    bool active = false;
    unsigned mtu_bytes = 0;
    std::uint16_t lid = 0;
    std::uint8_t lid_mask_bits = 0;  // LMC: the port answers to 2^LMC LIDs
    std::vector<GidEntry> gids;      // free entries left out
};

// "::ffff:10.0.0.1", as inet_pton(3) reads and writes it.
inline std::string text_of(const Gid& gid) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
    return text.data();
}

inline bool read_gid(const std::string& text, Gid& gid) {
    return inet_pton(AF_INET6, text.c_str(), gid.data()) == 1;
}

}  // namespace lanewise::paths
