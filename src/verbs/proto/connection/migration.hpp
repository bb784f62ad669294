// SPDX-License-Identifier: BSD-3-Clause
//
// Automatic path migration (IBA 1, 17.2.8; paper 003, section 2.2), for RC and UC. A queue pair is
// MIGRATED until the program loads an alternate path and asks it to REARM; it is ARMED by the first
// packet of the peer that says the peer is not migrated. An armed queue pair leaves for its
// alternate path when told to, when retries are exhausted, when its port loses the carrier, and
// when the peer has left. Sequence numbers and work are of the queue pair, not of a path, so a
// migration moves none of them.

#pragma once

#include "verbs/proto/connection/connection.hpp"

namespace lanewise::verbs {

enum class Passage : std::uint8_t {
    usual,     // on a path of the queue pair
    followed,  // the peer had migrated, and so has the queue pair, just now
    foreign,   // from elsewhere; to be dropped
};

// Looks at the addresses and the MigReq bit of a packet.
Passage admit(Connection& connection, const Packet& packet, const Arrival& from);

// The alternate path becomes the primary one, and the program is told.
void migrate(Connection& connection);

// Whether retries that are exhausted make the queue pair leave for its alternate path: it is armed.
// With a time of grace (DeviceConfig) it is enough that the alternate is loaded, but its port must
// have a carrier.
bool may_leave(const Connection& connection);

// Whether to leave a port that lost its carrier: only an armed queue pair can, and only to a port
// that has one.
bool leaves_port(Connection& connection, std::uint8_t port);

// 0 where ibv_modify_qp(3) may ask for `wanted`, else EINVAL.
int check_migration(const Connection& connection, Migration wanted, State next,
                    bool alternate_given);

}  // namespace lanewise::verbs
