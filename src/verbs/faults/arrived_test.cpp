// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/arrived.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace lanewise::verbs::faults {
namespace {

constexpr Stream requests{.destination_qpn = 17};
constexpr Stream responses{.destination_qpn = 17, .responses = true};

TEST(ArrivedTest, HasWhatWasAddedToTheSameStreamAlone) {
    Arrived arrived;

    arrived.add(requests, Psn(5));

    EXPECT_TRUE(arrived.has(requests, Psn(5)));
    EXPECT_FALSE(arrived.has(requests, Psn(4)));
    EXPECT_FALSE(arrived.has(requests, Psn(6)));
    EXPECT_FALSE(arrived.has(responses, Psn(5)));
    EXPECT_FALSE(arrived.has({.destination_qpn = 18}, Psn(5)));
}

TEST(ArrivedTest, ForgetsBothStreamsOfAQueuePairAndNoOther) {
    constexpr Stream others{.destination_qpn = 18};
    Arrived arrived;
    for (const Stream stream : {requests, responses, others}) arrived.add(stream, Psn(5));

    arrived.forget(17);

    EXPECT_FALSE(arrived.has(requests, Psn(5)));
    EXPECT_FALSE(arrived.has(responses, Psn(5)));
    EXPECT_TRUE(arrived.has(others, Psn(5)));
}

// Numbers that wrap, come out of order, again, or not at all.
TEST(ArrivedTest, AgreesWithASetOfNumbersWithinTheWindow) {
    std::mt19937_64 random(1);
    Arrived arrived;
    std::set<std::uint64_t> added;
    std::uint64_t newest = 0xfffe00;
    for (int packet = 0; packet < 200'000; ++packet) {
        const std::uint64_t number = newest + random() % 40 - 30;
        arrived.add(requests, Psn(static_cast<std::uint32_t>(number)));
        added.insert(number);
        newest = std::max(newest, number);
        const std::uint64_t asked = newest + 8 - random() % (Arrived::window - 8);
        if (asked <= newest) {
            ASSERT_EQ(arrived.has(requests, Psn(static_cast<std::uint32_t>(asked))),
                      added.contains(asked))
                << packet;
        }
    }
}

TEST(ArrivedTest, ANumberFarAwayBeginsANewConnection) {
    Arrived arrived;
    for (std::uint32_t psn = 0; psn < 10; ++psn) arrived.add(requests, Psn(psn));

    arrived.add(requests, Psn(5 + 3 * Arrived::window));

    EXPECT_TRUE(arrived.has(requests, Psn(5 + 3 * Arrived::window)));
    EXPECT_FALSE(arrived.has(requests, Psn(5)));
    EXPECT_FALSE(arrived.has(requests, Psn(6 + 2 * Arrived::window)));
    EXPECT_FALSE(arrived.has(requests, Psn(4 + 3 * Arrived::window)));
}

}  // namespace
}  // namespace lanewise::verbs::faults
