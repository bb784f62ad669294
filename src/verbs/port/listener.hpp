// SPDX-License-Identifier: BSD-3-Clause
//
// A socket on UDP 4791 of one address. Sockets of one user on the same address form a group, in
// which this one has a place (steering.hpp). Path MTU discovery is on, so that the kernel leaves
// the IPv4 identification at 0, 1, 2 … over the segments of a batch, and the invariant CRC can be
// computed.

#pragma once

#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/descriptor.hpp"
#include "base/result.hpp"
#include "verbs/port/address.hpp"
#include "verbs/port/connected_socket.hpp"
#include "verbs/port/slot.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::port {

// An address of this host, and the interface that has it.
struct Home {
    Address address{};
    unsigned interface = 0;

    bool operator==(const Home&) const = default;
};

// Packets for one destination, all of `segment_bytes` but the last, which may be shorter. Their
// ICRCs hold for `origin`.
struct Departure {
    Route route;
    Origin origin;
    std::size_t segment_bytes = 0;
    std::uint8_t traffic_class = 0;
    std::span<const iovec> pieces;
};

// A packet as it came. `number` counts the packets of a batch from 0.
struct Datagram {
    Address source{};
    Address destination{};
    std::uint16_t source_port = 0;
    unsigned interface = 0;
    unsigned number = 0;
    bool in_memory = false;  // it came through memory, without an ICRC
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;  // that was left
    std::span<const std::byte> packet;
};

class Listener {
  public:
    // Joins the group, for the process that has `slot`.
    static Result<Listener> open(const Home& home, std::uint32_t slot);
    // Hears what is sent to the multicast address of `home`. Every socket of this host that does so
    // gets a copy, so there is no place to know.
    static Result<Listener> join(const Home& home);

    const Home& home() const { return home_; }
    int socket() const { return socket_.number(); }
    Sent send(const Departure& departure);

    // Reads one batch, of packets of `segment_bytes`, or of one packet where that is 0; false where
    // there was nothing.
    struct Arrived {
        Datagram batch;
        std::size_t segment_bytes = 0;
    };
    bool receive(std::span<std::byte> buffer, Arrived& arrived);

    // Asks where in the group this process stands; `take_answer` gets the answers.
    void ask_place();
    // Whether it has been a while since it asked.
    bool may_ask_again() const;
    // False if the packet is not an answer, whoever it is from.
    bool take_answer(const Datagram& datagram);
    bool is_answered() const { return answers_ > 0; }

    // After fork, in the child.
    void close_in_child() const;

    // For tests: the place, and how often it has told the kernel who stands where.
    std::uint32_t place() const { return place_; }
    std::uint64_t tables_made() const { return tables_made_; }

  private:
    Listener(const Home& home, std::uint32_t slot, Descriptor socket)
        : home_(home), slot_(slot), socket_(std::move(socket)) {}

    std::string group() const;
    void stand_at(std::uint32_t place);

    Home home_;
    std::uint32_t slot_ = 0;
    Descriptor socket_;
    Descriptor announcement_;
    std::uint32_t place_ = 0;
    std::uint64_t answers_ = 0;
    std::uint64_t tables_made_ = 0;
    std::uint64_t nonce_ = 0;    // of the last question
    bool is_confirmed_ = false;  // that question had an answer
    std::chrono::steady_clock::time_point asked_{};
};

}  // namespace lanewise::verbs::port
