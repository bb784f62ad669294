// SPDX-License-Identifier: BSD-3-Clause
//
// What ports and queue pairs count. They only grow.

#pragma once

#include <cstdint>

namespace lanewise::verbs {

struct QueuePairCounters {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_resent = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t probes = 0;
    std::uint64_t sequence_naks_sent = 0;
    std::uint64_t sequence_naks_received = 0;
    std::uint64_t rnr_naks_sent = 0;
    std::uint64_t rnr_naks_received = 0;
    std::uint64_t error_naks_sent = 0;
    std::uint64_t error_naks_received = 0;
    std::uint64_t out_of_order = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t migrations = 0;
    std::uint64_t foreign_packets = 0;  // from an address that is not on a path of the queue pair
    std::uint64_t outside_window = 0;   // with a sequence number that the peer cannot have reached
    std::uint64_t dropped = 0;          // for any other reason

    QueuePairCounters& operator+=(const QueuePairCounters& other);
};

inline QueuePairCounters& QueuePairCounters::operator+=(const QueuePairCounters& other) {
    packets_sent += other.packets_sent;
    packets_received += other.packets_received;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    packets_resent += other.packets_resent;
    timeouts += other.timeouts;
    probes += other.probes;
    sequence_naks_sent += other.sequence_naks_sent;
    sequence_naks_received += other.sequence_naks_received;
    rnr_naks_sent += other.rnr_naks_sent;
    rnr_naks_received += other.rnr_naks_received;
    error_naks_sent += other.error_naks_sent;
    error_naks_received += other.error_naks_received;
    out_of_order += other.out_of_order;
    duplicates += other.duplicates;
    migrations += other.migrations;
    foreign_packets += other.foreign_packets;
    outside_window += other.outside_window;
    dropped += other.dropped;
    return *this;
}

struct PortCounters {
    std::uint64_t packets_sent = 0;
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t malformed = 0;
    std::uint64_t icrc_errors = 0;
    std::uint64_t unknown_queue_pair = 0;
    std::uint64_t pkey_violations = 0;
    std::uint64_t qkey_violations = 0;
    std::uint64_t sends_failed = 0;  // batches that the kernel refused, or that have no carrier
    // Of congestion, by the names that a ConnectX card has for them.
    std::uint64_t np_ecn_marked_roce_packets = 0;
    std::uint64_t np_cnp_sent = 0;
    std::uint64_t rp_cnp_handled = 0;
    std::uint64_t rp_cnp_ignored = 0;
};

}  // namespace lanewise::verbs
