// SPDX-License-Identifier: BSD-3-Clause
//
// A socket to send from that belongs to one route: the kernel then keeps the way to the peer, and a
// small packet is there a tenth earlier than from a socket that looks it up each time.
//
// What it costs is to know its packets' IPv4 identification, which the invariant CRC covers: Linux
// counts it up from a random beginning for a connected socket, and tells it to nobody but a raw
// one. A socket may however have its packets back with a time stamp, headers and all
// (SO_TIMESTAMPING, timestamping.rst of the kernel). So a line begins with datagrams to its own
// host, reads from them where the count stands and that it counts by one, and refuses to be where
// it does not.

#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <span>

#include "verbs/port/address.hpp"
#include "verbs/port/descriptor.hpp"

namespace lanewise::verbs::port {

// From an address and an interface of this host to a peer.
struct Route {
    Address source{};
    Address destination{};
    unsigned interface = 0;

    bool operator==(const Route&) const = default;
};

// `lost`: so is this packet; and where a line says so, it can no longer tell what it would send.
enum class Sent : std::uint8_t { yes, later, lost };

class Line {
  public:
    // Nothing where the kernel, or what this process may do, does not allow it.
    static std::optional<Line> open(const Route& route);

    Origin origin() const { return origin_; }
    // Packets of `segment_bytes`, or one where that is 0.
    Sent send(std::span<const iovec> pieces, std::size_t segment_bytes);

  private:
    Line(Descriptor socket, Origin origin) : socket_(std::move(socket)), origin_(origin) {}

    Descriptor socket_;
    Origin origin_;
};

}  // namespace lanewise::verbs::port
