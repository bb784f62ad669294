// SPDX-License-Identifier: BSD-3-Clause
//
// How much a path carries in flight while nothing waits in a queue: what was acknowledged in a
// round trip, divided by its time and multiplied by that of the shortest round trip. That is the
// window of TCP Westwood after a loss (Mascolo et al., MobiCom 2001), here with the largest of the
// latest estimates in place of a low-pass filter, since a round trip in which something was lost
// says too little.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

class PathCapacity {
  public:
    // Everything before `end` has been sent, everything before `unacknowledged` is acknowledged.
    void on_sent(Psn unacknowledged, Psn end, std::size_t payload_bytes, Nanoseconds now) {
        if (!round_trip_ || round_trip_->begun == now) {
            round_trip_ = RoundTrip{unacknowledged, end, payload_bytes, now};
        }
    }

    // Everything before `psn` is acknowledged.
    void on_acknowledged(Psn psn, Nanoseconds now, Nanoseconds shortest_ns) {
        if (round_trip_ && !before(psn, round_trip_->end)) {
            add(*round_trip_, now, shortest_ns);
            round_trip_.reset();
        }
    }

    // Payload and at least as much as a short packet takes in a socket buffer; 0 while unknown.
    std::uint32_t bytes() const { return *std::ranges::max_element(estimates_); }

  private:
    // What was in flight when a burst of packets had left.
    struct RoundTrip {
        Psn first;
        Psn end;
        std::size_t payload_bytes = 0;
        Nanoseconds begun = 0;
    };

    void add(const RoundTrip& done, Nanoseconds now, Nanoseconds shortest_ns) {
        const auto packets = static_cast<std::uint64_t>(distance(done.first, done.end));
        const auto took_ns = std::max({now - done.begun, shortest_ns, Nanoseconds{1}});
        const std::uint64_t bytes = packets * socket_buffer_bytes(done.payload_bytes);
        estimates_[next_] = static_cast<std::uint32_t>(
            bytes * static_cast<std::uint64_t>(shortest_ns) / static_cast<std::uint64_t>(took_ns));
        next_ = (next_ + 1) % estimates_.size();
    }

    std::optional<RoundTrip> round_trip_;
    std::array<std::uint32_t, 8> estimates_{};
    std::size_t next_ = 0;
};

}  // namespace lanewise::verbs
