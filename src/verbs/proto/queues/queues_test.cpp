// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues, shared receive queues, and the life of objects.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<EventKind> kinds(std::deque<Event>& events) {
    std::vector<EventKind> all;
    for (const Event& event : events) {
        all.push_back(event.kind);
    }
    events.clear();
    return all;
}

TEST(CompletionQueue, GivesEntriesInOrderAcrossTheEndOfItsRing) {
    std::deque<Event> events;
    CompletionQueue queue(5, events, nullptr);
    Completion out[5];
    for (std::uint64_t id = 0; id < 100; ++id) {
        EXPECT_TRUE(queue.push({.id = 3 * id}, 0));
        EXPECT_TRUE(queue.push({.id = 3 * id + 1}, 0));
        EXPECT_TRUE(queue.push({.id = 3 * id + 2}, 0));
        EXPECT_EQ(queue.poll(out), 3u);
        EXPECT_EQ(out[2].id, 3 * id + 2);
    }
}

TEST(CompletionQueue, ThatOverflowsReportsOnceAndTakesNoMore) {
    std::deque<Event> events;
    CompletionQueue queue(2, events, nullptr);
    EXPECT_TRUE(queue.push({}, 0));
    EXPECT_TRUE(queue.push({}, 0));
    EXPECT_FALSE(queue.push({}, 0));
    EXPECT_FALSE(queue.push({}, 0));

    EXPECT_THAT(kinds(events), ElementsAre(EventKind::cq_error));
}

TEST(CompletionQueue, WakesOnceForEachTimeItIsArmed) {
    std::deque<Event> events;
    CompletionQueue queue(10, events, nullptr);
    queue.push({}, 0);
    EXPECT_THAT(kinds(events), IsEmpty());
    queue.arm(Wanted::any);
    queue.push({}, 0);
    queue.push({}, 0);
    EXPECT_THAT(kinds(events), ElementsAre(EventKind::completion));
}

TEST(CompletionQueue, ArmedForSolicitedWakesForThoseAndForErrors) {
    std::deque<Event> events;
    CompletionQueue queue(10, events, nullptr);
    queue.arm(Wanted::solicited);
    queue.push({}, 0);
    EXPECT_THAT(kinds(events), IsEmpty());
    queue.push({.solicited = true}, 0);
    EXPECT_THAT(kinds(events), ElementsAre(EventKind::completion));
    queue.arm(Wanted::solicited);
    queue.push({.status = Status::flushed}, 0);
    EXPECT_THAT(kinds(events), ElementsAre(EventKind::completion));
}

TEST(CompletionQueue, ResizesToNoLessThanItHolds) {
    std::deque<Event> events;
    CompletionQueue queue(4, events, nullptr);
    queue.push({}, 0);
    queue.push({}, 0);
    EXPECT_EQ(queue.resize(1), EINVAL);
    EXPECT_EQ(queue.resize(2), 0);
    EXPECT_FALSE(queue.push({}, 0));
}

TEST(CompletionQueue, ThatOverflowsFailsItsQueuePair) {
    Pair pair;
    CompletionQueue *small = pair.a.device->create_completion_queue(1, nullptr);
    QueuePair *queue_pair = pair.a.device->create_queue_pair({.number = 99,
                                                              .domain = 1,
                                                              .send_queue = small,
                                                              .receive_queue = small,
                                                              .receive_requests_max = 4});
    Attributes wanted = pair.a.attributes();
    wanted.state = State::init;
    queue_pair->modify(wanted, init_mask);
    const Slice slice = pair.a.slice(0, 8);
    for (std::uint64_t i = 0; i < 3; ++i) {
        queue_pair->post_receive({i, {&slice, 1}});
    }
    wanted.state = State::error;
    queue_pair->modify(wanted, state_attribute);

    EXPECT_THAT(pair.a.events(), Contains(EventKind::cq_error));
    EXPECT_EQ(small->size(), 1u);
}

TEST(SharedReceiveQueue, ServesMessagesInTheOrderTheyCome) {
    Pair pair({.shared_receive_queue = true});
    for (std::uint64_t i = 0; i < 5; ++i) {
        pair.b.post_receive(i, 100 * i, 100);
        pair.a.post_send(i, 100 * i, 100);
    }
    pair.wire.run_until(idle);

    const auto received = pair.b.receives();
    ASSERT_EQ(received.size(), 5u);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(received[i].id, i);
    }
}

TEST(SharedReceiveQueue, ReportsItsLimitOnce) {
    Pair pair({.shared_receive_queue = true});
    for (std::uint64_t i = 0; i < 5; ++i) {
        pair.b.post_receive(i, 0, 100);
    }
    ASSERT_EQ(pair.b.shared->set_limit(4), 0);
    for (std::uint64_t i = 0; i < 5; ++i) {
        pair.a.post_send(i, 0, 100);
    }
    pair.wire.run_until(idle);

    EXPECT_THAT(pair.b.events(), ElementsAre(EventKind::srq_limit_reached));
    EXPECT_EQ(pair.b.shared->limit(), 0u);
}

TEST(Objects, InUseAreNotDestroyed) {
    Pair pair({.shared_receive_queue = true});
    Device& device = *pair.b.device;
    EXPECT_EQ(device.destroy(pair.b.send_queue), EBUSY);
    EXPECT_EQ(device.destroy(pair.b.shared), EBUSY);
    EXPECT_EQ(device.destroy(pair.b.queue_pair), 0);
    EXPECT_EQ(device.destroy(pair.b.send_queue), 0);
    EXPECT_EQ(device.destroy(pair.b.receive_queue), 0);
    EXPECT_EQ(device.destroy(pair.b.shared), 0);
}

TEST(Objects, DestroyedUnderTrafficLeaveNothingBehind) {
    Pair pair({.timeout = 5, .retry_count = 1});
    pair.a.post(Operation::read, 1, pair.a.slice(0, 500'000), pair.b, 0);
    pair.b.post(Operation::write, 1, pair.b.slice(0, 500'000), pair.a, 0);
    pair.wire.run_for(11'000);
    pair.b.device->destroy(pair.b.queue_pair);
    pair.wire.run_until(idle);

    EXPECT_EQ(pair.b.device->next_deadline(), never);
    EXPECT_GT(pair.b.device->counters(1).unknown_queue_pair, 0u);
    EXPECT_EQ(pair.a.sends().at(0).status, Status::retry_exceeded);
}

TEST(Objects, WithoutSenseAreNotCreated) {
    Pair pair;
    Device& device = *pair.a.device;
    errno = 0;
    EXPECT_EQ(device.create_queue_pair(pair.a.queue_pair->init()), nullptr);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(device.create_queue_pair({.number = 5}), nullptr);
    EXPECT_EQ(errno, EINVAL);
    QueuePairInit init = pair.a.queue_pair->init();
    init.number = 5;
    init.send_requests_max = device.config().requests_max + 1;
    EXPECT_EQ(device.create_queue_pair(init), nullptr);
}

TEST(Agenda, CallsManyQueuePairsEachAtItsMoment) {
    Pair pair({.timeout = 1});
    Device& device = *pair.a.device;
    Attributes wanted = pair.a.attributes();
    std::vector<QueuePair *> all;
    for (std::uint32_t i = 0; i < 200; ++i) {
        QueuePairInit init = pair.a.queue_pair->init();
        init.number = 1000 + i;
        QueuePair *made = device.create_queue_pair(init);
        wanted.primary.timeout = static_cast<std::uint8_t>(1 + i % 7);
        wanted.retry_count = static_cast<std::uint8_t>(i % 3);
        wanted.destination_qpn = 0x500;
        wanted.state = State::init;
        made->modify(wanted, init_mask);
        wanted.state = State::ready_to_receive;
        made->modify(wanted, rc_receive_mask);
        wanted.state = State::ready_to_send;
        made->modify(wanted, rc_send_mask);
        made->post_send({.id = i});
        all.push_back(made);
    }
    const Nanoseconds start = pair.wire.now();
    std::size_t seen = 0;
    pair.wire.run_until([&] {
        for (const Completion& done : pair.a.sends()) {
            const auto retries = static_cast<Nanoseconds>(done.id % 3);
            EXPECT_EQ(pair.wire.now() - start, (retries + 1) * (8192LL << done.id % 7));
            ++seen;
        }
        return false;
    });

    EXPECT_EQ(seen, 200u);
}

}  // namespace
}  // namespace lanewise::verbs::testing
