// SPDX-License-Identifier: BSD-3-Clause
//
// Traffic both ways on every queue pair: numbered messages with a checksum, and now and then a
// fetch-and-add of one to a counter at the peer. What arrives is checked: each number once, in
// order, whole; and the counters must end at the number of additions that were confirmed.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/migration/exchange/cuts.hpp"
#include "experiments/migration/exchange/endpoint.hpp"

namespace lanewise::exchange {

struct Found {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicated = 0;
    std::vector<std::string> twice;  // what the first of those were
    std::uint64_t corrupted = 0;
    std::uint64_t atomics = 0;        // confirmed to this side
    std::uint64_t atomics_wrong = 0;  // how far the peer's counters are off
    std::uint64_t writes = 0;         // plain ones that the peer has seen and answered
    std::int64_t longest_gap_ns = 0;  // between two confirmed messages
    // For each cut of this side, the time until a message that was posted after it is confirmed;
    // -1 if the traffic had ended.
    std::vector<std::int64_t> resumed_ns;
};

std::size_t traffic_memory_bytes(const Settings& settings);
// Starts the cuts, unless they have started.
Found exchange(const Settings& settings, Rendezvous& rendezvous, Endpoint& endpoint, Cuts& cuts);

}  // namespace lanewise::exchange
