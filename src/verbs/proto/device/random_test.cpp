// SPDX-License-Identifier: BSD-3-Clause
//
// Any work, over any wire: each seed decides the queue pairs, the work and the faults.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "testing/cases.hpp"
#include "verbs/proto/testing/traffic.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::IsEmpty;

Options any_options(std::mt19937_64& random) {
    Options options;
    options.mtu = static_cast<Mtu>(1 + random() % 5);
    options.family = random() % 2 == 0 ? Family::ipv4 : Family::ipv6;
    options.timeout = static_cast<std::uint8_t>(6 + random() % 6);
    options.rnr_timer = static_cast<std::uint8_t>(1 + random() % 8);
    options.read_atomic = static_cast<std::uint8_t>(1 + random() % 4);
    options.send_psn[0] = static_cast<std::uint32_t>(random());
    options.send_psn[1] = 0xffffff - static_cast<std::uint32_t>(random() % 100);
    options.memory_bytes = traffic_memory_bytes;
    options.shared_receive_queue = random() % 3 == 0;
    options.signal_all = false;
    return options;
}

DeviceConfig any_config(std::mt19937_64& random) {
    DeviceConfig config{.port_count = 2};
    config.window_bytes = 2048u << random() % 8;
    config.probe_ns = random() % 2 == 0 ? 0 : 60'000;
    config.ack_delay_ns = random() % 2 == 0 ? 0 : 20'000;
    config.lazy_ack_ns = random() % 2 == 0 ? 0 : 30'000;
    config.reorder_ns = random() % 2 == 0 ? 0 : 30'000;
    config.reassembly_bytes = random() % 3 == 0 ? 0 : 1024u << random() % 9;
    return config;
}

Faults any_faults(std::mt19937_64& random) {
    const auto share = [&](double most) {
        return random() % 3 == 0 ? 0 : most * static_cast<double>(random() % 100) / 100;
    };
    return {.loss = share(0.05),
            .duplicate = share(0.1),
            .reorder = share(0.05),
            .corrupt = share(0.03),
            .delay_ns = static_cast<Nanoseconds>(500 + random() % 20'000)};
}

TEST(AnyWork, OfAReliableConnectionIsDoneOnceAndInOrderWhateverTheWireDoes) {
    const auto seeds = lanewise::testing::cases<std::uint64_t>(150, 50);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        std::mt19937_64 random(seed);
        Pair pair(any_options(random), any_config(random), seed);
        pair.wire.all_paths(any_faults(random));
        Traffic traffic(pair, seed, {});

        const bool finished = traffic.finish(60 * second_ns);

        ASSERT_TRUE(finished) << "seed " << seed << ", failures " << traffic.failures().size();
        ASSERT_THAT(traffic.mistakes(), IsEmpty()) << "seed " << seed;
    }
}

TEST(AnyWork, OfAnUnreliableConnectionIsDoneOnAGoodWire) {
    const auto seeds = lanewise::testing::cases<std::uint64_t>(30, 10);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        std::mt19937_64 random(seed);
        Options options = any_options(random);
        options.transport = Transport::uc;
        options.requests_max = 64;
        Pair pair(options, any_config(random), seed);
        Traffic traffic(pair, seed, {.receives_first = true});

        const bool finished = traffic.finish(second_ns);

        ASSERT_TRUE(finished) << "seed " << seed;
        ASSERT_THAT(traffic.mistakes(), IsEmpty()) << "seed " << seed;
    }
}

}  // namespace
}  // namespace lanewise::verbs::testing
