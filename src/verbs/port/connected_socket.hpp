// SPDX-License-Identifier: BSD-3-Clause
//
// UDP sockets that are connected to one peer, for sending. The kernel then keeps the route, and a
// small packet arrives about a tenth earlier than from a socket that looks the route up each time.
//
// The price is that the IPv4 identification of the packets, which the invariant CRC covers, must be
// known: Linux counts it up from a random beginning for a connected socket, and shows it only to
// raw sockets. But a socket can get its packets back with a time stamp, headers and all
// (SO_TIMESTAMPING, timestamping.rst of the kernel). So a new socket first sends datagrams to its
// own host and reads from them where the count is and that it counts by one; if not, opening fails.

#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/descriptor.hpp"
#include "verbs/port/address.hpp"

namespace lanewise::verbs::port {

// From an address and an interface of this host to a peer.
struct Route {
    Address source{};
    Address destination{};
    unsigned interface = 0;

    bool operator==(const Route&) const = default;
};

// `lost`: the packet is lost, and a connected socket no longer knows its next identification.
enum class Sent : std::uint8_t { yes, later, lost };

class ConnectedSocket {
  public:
    // None if the kernel or the privileges of this process do not allow it.
    static std::optional<ConnectedSocket> open(const Route& route);

    Origin origin() const { return origin_; }
    int number() const { return socket_.number(); }
    // Packets of `segment_bytes`, or one where that is 0.
    Sent send(std::span<const iovec> pieces, std::size_t segment_bytes, std::uint8_t traffic_class);

  private:
    ConnectedSocket(Descriptor socket, Origin origin, int family)
        : socket_(std::move(socket)), origin_(origin), family_(family) {}

    Descriptor socket_;
    Origin origin_;
    int family_;
    // What the socket's packets have unless they say otherwise: that of the first ones. For others
    // the kernel looks the route up.
    std::optional<std::uint8_t> traffic_class_;
};

// The connected sockets of a process: one for each route that is used often, up to a bound. Routes
// with the same hash compete by use, so that a process with many peers does not open and close
// sockets all the time.
class ConnectedSockets {
  public:
    static constexpr int places = 64;
    static constexpr int uses_before_open = 16;

    // Counts a use of a route. Its connected, which this may open; null where it has none.
    ConnectedSocket *use(const Route& route);
    // The same without counting a use.
    ConnectedSocket *find(const Route& route);
    void close(const Route& route);
    // Routes may have changed.
    void close_all() { places_ = {}; }

  private:
    struct Place {
        Route route;
        std::uint64_t uses = 0;
        int credit = 0;
        std::optional<ConnectedSocket> socket;
    };
    Place& place_of(const Route& route);

    std::array<Place, places> places_;
};

}  // namespace lanewise::verbs::port
