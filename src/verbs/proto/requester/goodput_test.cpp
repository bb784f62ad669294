// SPDX-License-Identifier: BSD-3-Clause
//
// What a stream of writes achieves on paths that are long, narrow or lossy, in virtual time, beside
// what TCP achieves there: its window is limited by the losses (Mathis et al., CCR 27(3), 1997).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr double link_bits_per_s = 1e9;
constexpr std::uint32_t window_bytes = 256 * 1024;
// As the adapter sets up a device.
const DeviceConfig as_shipped{.port_count = 2,
                              .window_bytes = window_bytes,
                              .ack_delay_ns = 20'000,
                              .lazy_ack_ns = 250'000,
                              .reassembly_bytes = window_bytes,
                              .reorder_ns = 200'000,
                              .probe_ns = 500'000};

struct Streamed {
    double bits_per_s = 0;
    double resent_share = 0;
};

// Posts messages of 64 KiB, always 16 at once.
Streamed stream(const Faults& faults, Nanoseconds duration_ns) {
    constexpr std::size_t bytes = 64 << 10;
    constexpr std::uint64_t at_once = 16;
    Pair pair({.timeout = 14}, as_shipped);
    pair.wire.path(1) = faults;
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
    const Nanoseconds begun = pair.wire.now();
    const auto go_on = [&] {
        for (const Completion& one : pair.a.sends()) {
            EXPECT_EQ(one.status, Status::success);
            ++done;
        }
        for (; posted < done + at_once; ++posted) {
            pair.a.post(Operation::write, posted, pair.a.slice(0, bytes), pair.b, 0);
        }
        return pair.wire.now() - begun >= duration_ns;
    };
    go_on();
    pair.wire.run_until(go_on);
    const auto& counters = pair.a.queue_pair->counters();
    return {.bits_per_s = 8e9 * static_cast<double>(done * bytes) /
                          static_cast<double>(pair.wire.now() - begun),
            .resent_share = static_cast<double>(counters.packets_resent) /
                            static_cast<double>(counters.packets_sent)};
}

double tcp_bits_per_s(double loss, Nanoseconds round_trip_ns) {
    constexpr double segment_bits = 8 * 1448;
    const double round_trip_s = static_cast<double>(round_trip_ns) / 1e9;
    return std::min(segment_bits / round_trip_s * std::sqrt(1.5 / loss),
                    link_bits_per_s * 1448 / 1538);
}

TEST(Goodput, OfALongPathDoesNotSufferFromProbes) {
    for (const Nanoseconds delay_ns : {200'000, 400'000, 1'000'000}) {
        const Streamed found =
            stream({.delay_ns = delay_ns, .rate_bits_per_s = link_bits_per_s}, 200'000'000);

        const double window_limit = 8e9 * window_bytes / (2.0 * static_cast<double>(delay_ns));
        EXPECT_GT(found.bits_per_s, 0.75 * std::min(link_bits_per_s, window_limit)) << delay_ns;
        EXPECT_LT(found.resent_share, 0.05) << delay_ns;
    }
}

TEST(Goodput, SurvivesThatTheFirstWindowOverflowsAQueue) {
    for (const Nanoseconds queue_ns : {200'000, 500'000, 1'000'000}) {
        const Streamed found = stream(
            {.delay_ns = 100'000, .rate_bits_per_s = link_bits_per_s, .drops_above_ns = queue_ns},
            250'000'000);

        EXPECT_GT(found.bits_per_s, 0.7 * link_bits_per_s) << queue_ns;
        EXPECT_LT(found.resent_share, 0.1) << queue_ns;
    }
}

// Such a queue overflows with each window. Two packets in a round trip get through in any case.
TEST(Goodput, DoesNotCollapseWhereAQueueHoldsOnlyAFewPackets) {
    for (const Nanoseconds delay_ns : {50'000, 100'000, 250'000}) {
        for (const Nanoseconds queue_ns : {delay_ns / 2, delay_ns}) {
            const Streamed found = stream({.delay_ns = delay_ns,
                                           .rate_bits_per_s = link_bits_per_s,
                                           .drops_above_ns = queue_ns},
                                          250'000'000);

            const double two_packets = 2 * 8e9 * 1024 / (2.0 * static_cast<double>(delay_ns));
            EXPECT_GT(found.bits_per_s, two_packets) << delay_ns << " " << queue_ns;
        }
    }
}

TEST(Goodput, OfAPathThatLosesPacketsWithoutBeingCongestedStaysHigh) {
    for (const Nanoseconds delay_ns : {100'000, 150'000, 200'000}) {
        const Streamed found = stream(
            {.loss = 0.01, .delay_ns = delay_ns, .rate_bits_per_s = link_bits_per_s}, 250'000'000);

        EXPECT_GT(found.bits_per_s, 0.8 * link_bits_per_s) << delay_ns;
        EXPECT_LT(found.resent_share, 0.04) << delay_ns;
    }
}

// Packets are lost, and in half of the cases one in a hundred is held for a millisecond.
class LossyPath : public ::testing::TestWithParam<std::tuple<double, Nanoseconds, double>> {};

TEST_P(LossyPath, CarriesAsMuchAsOfTcp) {
    const auto [loss, delay_ns, reorder] = GetParam();

    const Streamed found = stream({.loss = loss,
                                   .reorder = reorder,
                                   .delay_ns = delay_ns,
                                   .rate_bits_per_s = link_bits_per_s,
                                   .held_ns = 1'000'000},
                                  250'000'000);

    EXPECT_GT(found.bits_per_s, 0.9 * tcp_bits_per_s(loss + reorder, 2 * delay_ns));
    EXPECT_LT(found.resent_share, 4 * loss + 2 * reorder + 0.04);
}

INSTANTIATE_TEST_SUITE_P(, LossyPath,
                         ::testing::Combine(::testing::Values(0.001, 0.01, 0.05),
                                            ::testing::Values(100'000, 200'000, 1'000'000),
                                            ::testing::Values(0, 0.01)));

}  // namespace
}  // namespace lanewise::verbs::testing
