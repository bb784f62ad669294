// SPDX-License-Identifier: BSD-3-Clause
//
// Automatic path migration (IBA 1, 17.2.8; Vishnu, Mamidala, Narravula and Panda 2007), for RC and
// UC. A queue pair is MIGRATED until the program loads an alternate path and asks it to REARM; the
// first packet in which the peer says that it is not migrated makes it ARMED. An armed queue pair
// migrates to its alternate path when the program asks, when its retries are exhausted, when its
// port loses the carrier, and when the peer has migrated. Sequence numbers and work belong to the
// queue pair, not to a path, so a migration moves none of them.

#pragma once

#include "verbs/proto/connection/connection.hpp"

namespace lanewise::verbs {

// Whether a packet comes from an address that the peer is known to have.
bool is_from_peer(const Connection& connection, const Arrival& from);

enum class Admission : std::uint8_t {
    on_path,   // on a path of the queue pair
    followed,  // the peer had migrated, and so has the queue pair, just now
    foreign,   // from any other address; to be dropped
};

// Looks at the addresses and the MigReq bit of a packet.
Admission admit(Connection& connection, const Packet& packet, const Arrival& from);

// Makes the alternate path the primary one, and reports IBV_EVENT_PATH_MIG.
void migrate(Connection& connection, MigrationCause cause);

// Why the n-th migration took place, from 1; unknown where that is long ago.
MigrationCause migration_cause(const Connection& connection, std::uint64_t number);

// Whether the alternate path is armed. With a retry window (DeviceConfig) it need only be loaded.
bool has_usable_alternate(const Connection& connection);

// Whether a queue pair whose retries are exhausted migrates: it must be armed. With a retry window
// (DeviceConfig) it is enough that the alternate is loaded, but its port must have a carrier.
bool may_migrate(const Connection& connection);

// Whether a queue pair leaves a path on which the peer has not answered for a long time, before its
// retries are exhausted: with a retry window, and if the peer has answered on the alternate path.
bool leaves_silent_path(const Connection& connection);

// Whether a queue pair migrates away from a port that lost its carrier: only an armed one can, and
// only to a port that has a carrier.
bool must_leave_port(Connection& connection, std::uint8_t port);

// Whether a queue pair whose alternate has just been loaded has a primary path that starts at a
// dead port, and an alternate that does not. It leaves at once if there is a retry window.
bool starts_on_dead_port(const Connection& connection);

// Whether the peer is still to answer on the alternate path before the queue pair is armed
// (DeviceConfig::confirm_alternates). The question is an acknowledgement with the bit of solicited
// events, which no other acknowledgement has, and asks for an answer by AckReq. Only an answer
// arms: any other packet says that the path from the peer is whole, and nothing of the path there.
bool awaits_confirmation(const Connection& connection);
bool is_path_probe(const Connection& connection, const Packet& packet);

// The acknowledgements with which queue pairs try paths. An answer takes the path of its question.
enum class Probe : std::uint8_t { none, question, answer_on_primary, answer_on_alternate };

// How to answer a question that has arrived; none if its path is no longer one of the queue pair.
Probe answer_to(const Connection& connection, const Arrival& from);

// 0 if ibv_modify_qp(3) may ask for `wanted`, else EINVAL.
int check_migration(const Connection& connection, Migration wanted, State next,
                    bool alternate_given);

}  // namespace lanewise::verbs
