// SPDX-License-Identifier: BSD-3-Clause
//
// What a path carries without a queue, estimated from acknowledgements.

#include "verbs/proto/requester/path_capacity.hpp"

#include <gtest/gtest.h>

namespace lanewise::verbs::testing {
namespace {

constexpr Nanoseconds shortest_ns = 100'000;

// Sends that many packets of 1 KiB at `now`, all of which are acknowledged later.
void send_and_wait(PathCapacity& capacity, std::uint32_t packets, Nanoseconds now,
                   Nanoseconds took_ns) {
    for (std::uint32_t i = 0; i < packets; ++i) {
        capacity.on_sent(Psn(0xfffff0), Psn(0xfffff0) + (i + 1), 1024, now);
    }
    capacity.on_acknowledged(Psn(0xfffff0) + packets, now + took_ns, shortest_ns);
}

TEST(PathCapacity, IsWhatWasInFlightWithoutTheShareOfTheQueue) {
    PathCapacity capacity;
    EXPECT_EQ(capacity.bytes(), 0u);

    send_and_wait(capacity, 40, 0, 2 * shortest_ns);

    EXPECT_EQ(capacity.bytes(), 20u * 1024);
}

TEST(PathCapacity, IsNeverMoreThanWhatWasInFlight) {
    PathCapacity capacity;

    send_and_wait(capacity, 40, 0, shortest_ns / 2);

    EXPECT_EQ(capacity.bytes(), 40u * 1024);
}

TEST(PathCapacity, IsUnknownUntilARoundTripIsMeasured) {
    PathCapacity capacity;
    capacity.on_sent(Psn(0), Psn(10), 1024, 5);

    capacity.on_acknowledged(Psn(10), 5, 0);

    EXPECT_EQ(capacity.bytes(), 0u);
}

TEST(PathCapacity, WaitsForThePacketsThatLeftTogether) {
    PathCapacity capacity;
    capacity.on_sent(Psn(0), Psn(10), 1024, 5);
    capacity.on_sent(Psn(0), Psn(20), 1024, 5);
    capacity.on_sent(Psn(0), Psn(30), 1024, 6);

    capacity.on_acknowledged(Psn(10), 5 + shortest_ns, shortest_ns);
    EXPECT_EQ(capacity.bytes(), 0u);

    capacity.on_acknowledged(Psn(20), 5 + shortest_ns, shortest_ns);
    EXPECT_EQ(capacity.bytes(), 20u * 1024);
}

TEST(PathCapacity, IsTheLargestOfTheLastEight) {
    PathCapacity capacity;
    send_and_wait(capacity, 40, 0, shortest_ns);
    for (Nanoseconds i = 1; i < 8; ++i) {
        send_and_wait(capacity, 4, i * 1'000'000'000, shortest_ns);
    }
    EXPECT_EQ(capacity.bytes(), 40u * 1024);

    send_and_wait(capacity, 4, 8'000'000'000, shortest_ns);

    EXPECT_EQ(capacity.bytes(), 4u * 1024);
}

TEST(PathCapacity, CountsShortPacketsAsTheWindowDoes) {
    PathCapacity capacity;
    capacity.on_sent(Psn(0), Psn(8), 1, 0);

    capacity.on_acknowledged(Psn(8), shortest_ns, shortest_ns);

    EXPECT_EQ(capacity.bytes(), 8 * socket_buffer_bytes(1));
}

}  // namespace
}  // namespace lanewise::verbs::testing
