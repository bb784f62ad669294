// SPDX-License-Identifier: BSD-3-Clause
//
// Time in the engine: nanoseconds since any moment that the caller likes. The engine never reads a
// clock. The two codes of InfiniBand for durations are here: the local acknowledgement timeout and
// the receiver-not-ready timer (InfiniBand Architecture Specification 1, 9.7.6.1.3 and table 45).

#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace lanewise::verbs {

using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds never = std::numeric_limits<Nanoseconds>::max();

// 4.096 µs · 2^code; 0 means that the requester waits for ever.
constexpr Nanoseconds ack_timeout_ns(std::uint8_t code) {
    return code == 0 ? never : Nanoseconds{4096} << (code & 31);
}

// Tens of microseconds; code 0 is the longest.
inline constexpr std::array<std::uint32_t, 32> rnr_timer_10us{
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr Nanoseconds rnr_timer_ns(std::uint8_t code) {
    return Nanoseconds{rnr_timer_10us[code & 31]} * 10'000;
}

}  // namespace lanewise::verbs
