// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of a queue pair, and what the device asks of them.

#pragma once

#include <optional>
#include <span>

#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/requester/requester.hpp"
#include "verbs/proto/responder/responder.hpp"

namespace lanewise::verbs {

struct QueuePairParts {
    QueuePairParts(DeviceParts& device, const QueuePairInit& init)
        : connection(device, init), requester(connection), responder(connection) {}

    Connection connection;
    Requester requester;
    Responder responder;
    Appointment appointment;
    bool flushed = false;
    bool drained_told = false;
    // How often more the peer is told of a migration, and when, until it has followed.
    unsigned announcements_left = 0;
    Nanoseconds announce_at = never;

    // A packet for this queue pair, whole and from a port of the device.
    void on_packet(const Packet& packet, const Arrival& from, Nanoseconds now);
    std::optional<Transmission> transmit(Batch& batch, std::size_t segments_max, Nanoseconds now);
    void on_deadline(Nanoseconds now);
    void on_port_down(std::uint8_t port);

    // Leaves the primary path at once; what is not answered goes again on the other one.
    void leave_path();
    // Does what follows from the state that the last call left: flushes, tells, takes its place
    // among those that send and those that wait. Every entry ends with it.
    void settle();

  private:
    void keep_announcing(Nanoseconds now);
};

}  // namespace lanewise::verbs
