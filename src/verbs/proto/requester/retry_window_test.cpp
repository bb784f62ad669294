// SPDX-License-Identifier: BSD-3-Clause
//
// The retry window: a queue pair whose paths are all dead retries for that long and no longer. All
// in virtual time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Contains;

constexpr Nanoseconds retry_window_ns = 500'000'000;
constexpr DeviceConfig with_window{.port_count = 2, .retry_window_ns = retry_window_ns};
constexpr Options options{.timeout = 8, .retry_count = 3};
constexpr Nanoseconds timeout_ns = 4096LL << 8;
constexpr Nanoseconds exhausted_ns = 4 * timeout_ns;

// In the order that leaves no path.
void cut_all(Pair& pair) {
    pair.wire.cut(2);
    pair.wire.cut(1);
}

void write_something(Pair& pair) {
    pair.a.post(Operation::write, 1, pair.a.slice(0, 8), pair.b, 0);
}

// Until the one request has completed, with success or not.
Nanoseconds time_to_end(Pair& pair) {
    const Nanoseconds start = pair.wire.now();
    pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });
    return pair.wire.now() - start;
}

void arm_both(Pair& pair) {
    ASSERT_EQ(pair.a.rearm(), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    pair.a.post(Operation::write, 77, pair.a.slice(0, 8), pair.b, 0);
    pair.b.post(Operation::write, 77, pair.b.slice(0, 8), pair.a, 0);
    pair.wire.run_until(idle);
    pair.a.sends();
    pair.b.sends();
    ASSERT_EQ(pair.a.queue_pair->query().migration, Migration::armed);
}

TEST(RetryWindow, EndsAQueuePairAtTheFirstTimeoutAfterIt) {
    Pair pair(options, with_window);
    arm_both(pair);
    cut_all(pair);
    write_something(pair);

    const Nanoseconds took = time_to_end(pair);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
    EXPECT_GE(took, exhausted_ns + retry_window_ns);
    EXPECT_LT(took, exhausted_ns + retry_window_ns + timeout_ns);
}

TEST(RetryWindow, OfZeroLeavesOnlyTheRetries) {
    Pair pair(options, {.port_count = 2});
    arm_both(pair);
    pair.wire.path(1).cut = true;
    pair.wire.path(2).cut = true;
    write_something(pair);

    // On each path once: the queue pair is armed, and the standard does not look at carriers.
    EXPECT_EQ(time_to_end(pair), 2 * exhausted_ns);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
}

TEST(RetryWindow, LetsAPathComeBackWithinIt) {
    for (const std::uint8_t port : {std::uint8_t{1}, std::uint8_t{2}}) {
        Pair pair(options, with_window);
        arm_both(pair);
        cut_all(pair);
        write_something(pair);
        pair.wire.run_for(retry_window_ns);
        pair.wire.mend(port);
        const Nanoseconds mended = pair.wire.now();
        pair.wire.run_until([&] { return pair.a.send_queue->size() > 0; });

        EXPECT_EQ(pair.a.sends().at(0).status, Status::success) << "port " << int{port};
        EXPECT_LE(pair.wire.now() - mended, 3 * timeout_ns) << "port " << int{port};
        EXPECT_EQ(pair.a.queue_pair->query().primary.address.port, port);
    }
}

// What is behind the lost packet arrives, so the loss shows before the next timeout.
TEST(RetryWindow, OutlastsALossOnThePathThatHasComeBack) {
    for (const Operation operation : {Operation::write, Operation::read}) {
        constexpr std::size_t in_flight = 50;
        Options many = options;
        many.read_atomic = 16;
        Pair pair(many, with_window);
        arm_both(pair);
        cut_all(pair);
        for (std::uint64_t i = 0; i < in_flight; ++i) {
            pair.a.post(operation, i, pair.a.slice(0, 1024), pair.b, 0);
        }
        pair.wire.run_for(retry_window_ns);
        pair.wire.mend(1);
        const std::size_t loses = operation == Operation::write ? 0 : 1;
        pair.wire.tap = [loses, is_lost = false](std::size_t from,
                                                 std::vector<std::byte>&) mutable {
            const bool passes = from != loses || is_lost;
            is_lost = is_lost || from == loses;
            return passes;
        };
        pair.wire.run_until(idle);

        const auto done = pair.a.sends();
        ASSERT_EQ(done.size(), in_flight);
        EXPECT_EQ(done.front().status, Status::success) << "operation " << int(operation);
        EXPECT_EQ(done.back().status, Status::success) << "operation " << int(operation);
    }
}

TEST(RetryWindow, StartsAgainAfterEveryProgress) {
    Pair pair(options, with_window);
    arm_both(pair);
    for (int round = 0; round < 3; ++round) {
        cut_all(pair);
        write_something(pair);
        pair.wire.run_for(retry_window_ns);
        pair.wire.mend(1);
        pair.wire.run_until(idle);
        ASSERT_EQ(pair.a.sends().at(0).status, Status::success) << "round " << round;
    }
}

// The peer is gone, and whoever protects the queue pair loads an alternate after each migration.
TEST(RetryWindow, EndsAQueuePairThatCanMigrateForEver) {
    for (const bool is_armed : {true, false}) {
        Pair pair(options, with_window);
        if (is_armed) {
            arm_both(pair);
        } else {
            ASSERT_EQ(pair.a.rearm(), 0);
        }
        pair.wire.path(1).cut = pair.wire.path(2).cut = true;
        write_something(pair);
        const Nanoseconds start = pair.wire.now();

        while (pair.a.send_queue->size() == 0 && pair.wire.now() - start < 10 * retry_window_ns) {
            pair.wire.run_for(timeout_ns);
            if (pair.a.queue_pair->query().migration == Migration::migrated) pair.a.rearm();
        }

        ASSERT_EQ(pair.a.send_queue->size(), 1U) << "armed: " << is_armed;
        EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
        EXPECT_GE(pair.wire.now() - start, retry_window_ns);
        EXPECT_LE(pair.wire.now() - start, retry_window_ns + 2 * exhausted_ns + timeout_ns);
    }
}

TEST(RetryWindow, LetsAQueuePairMigrateToAnAlternateThatIsNotArmed) {
    Pair pair(options, with_window);
    ASSERT_EQ(pair.a.rearm(), 0);
    ASSERT_EQ(pair.b.rearm(), 0);
    pair.wire.cut(1);
    write_something(pair);

    EXPECT_LE(time_to_end(pair), exhausted_ns + timeout_ns);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::success);
    EXPECT_EQ(pair.a.queue_pair->query().primary.address.port, 2);
    EXPECT_THAT(pair.b.events(), Contains(EventKind::path_migrated));
}

TEST(RetryWindow, IsNotLongerForAQueuePairWithoutAnAlternate) {
    Pair pair(options, with_window);
    pair.wire.cut(1);
    write_something(pair);

    const Nanoseconds took = time_to_end(pair);

    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
    EXPECT_GE(took, exhausted_ns + retry_window_ns);
    EXPECT_LT(took, exhausted_ns + retry_window_ns + timeout_ns);
}

}  // namespace
}  // namespace lanewise::verbs::testing
