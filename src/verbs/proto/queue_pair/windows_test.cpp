// SPDX-License-Identifier: BSD-3-Clause
//
// Memory windows that queue pairs bind and invalidate, in order with what else is posted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

std::vector<Status> outcomes(const std::vector<Completion>& completions) {
    std::vector<Status> all;
    for (const Completion& completion : completions) all.push_back(completion.status);
    return all;
}

// The second peer has a window, and the first one writes through it.
struct Windows {
    explicit Windows(WindowType type, const Options& options = {})
        : pair(options), key(pair.b.device->memory().add_window(1, type)) {}

    int bind(std::uint64_t id, std::uint32_t as, std::uint32_t flags = 0) {
        const WindowBinding binding{as, pair.b.key, pair.b.address(0), 100, remote_write};
        return pair.b.queue_pair->post_send(
            {.id = id, .operation = Operation::bind_window, .flags = flags, .binding = &binding});
    }
    int invalidate(std::uint64_t id, std::uint32_t which) {
        return pair.b.queue_pair->post_send(
            {.id = id, .operation = Operation::local_invalidate, .invalidated_key = which});
    }
    int send_invalidating(std::uint64_t id, std::uint32_t which, std::size_t bytes) {
        const Slice local = pair.a.slice(0, bytes);
        return pair.a.queue_pair->post_send({.id = id,
                                             .operation = Operation::send_invalidate,
                                             .slices = {&local, 1},
                                             .invalidated_key = which});
    }
    Status write(std::uint32_t by, std::size_t bytes = 100) {
        const Slice local = pair.a.slice(0, bytes);
        pair.a.queue_pair->post_send({.operation = Operation::write,
                                      .slices = {&local, 1},
                                      .remote_address = pair.b.address(0),
                                      .rkey = by});
        pair.wire.run_until(idle);
        return pair.a.sends().at(0).status;
    }

    Pair pair;
    std::uint32_t key;
};

TEST(Windows, OpenWhenTheyAreBound) {
    Windows windows(WindowType::type_1);

    ASSERT_EQ(windows.bind(4, windows.key + 1), 0);
    windows.pair.wire.run_until(idle);

    const auto bound = windows.pair.b.sends();
    ASSERT_EQ(bound.size(), 1u);
    EXPECT_EQ(bound[0].id, 4u);
    EXPECT_EQ(bound[0].work, CompletedWork::bind_window);
    EXPECT_EQ(windows.write(windows.key + 1), Status::success);
    EXPECT_EQ(windows.write(windows.key), Status::remote_access_error);
}

TEST(Windows, CloseToWhatLeavesThem) {
    Windows windows(WindowType::type_1);
    windows.bind(1, windows.key);
    windows.pair.wire.run_until(idle);

    EXPECT_EQ(windows.write(windows.key, 101), Status::remote_access_error);
}

TEST(Windows, OfType2CloseWhenTheProgramInvalidatesThem) {
    Windows windows(WindowType::type_2);
    windows.bind(1, windows.key);
    ASSERT_EQ(windows.invalidate(2, windows.key), 0);
    windows.pair.wire.run_until(idle);

    const auto done = windows.pair.b.sends();
    EXPECT_THAT(outcomes(done), ElementsAre(Status::success, Status::success));
    EXPECT_EQ(done.at(1).work, CompletedWork::local_invalidate);
    EXPECT_EQ(windows.write(windows.key), Status::remote_access_error);
}

TEST(Windows, OfType2CloseWhenThePeerInvalidatesThemWithASend) {
    for (const std::size_t bytes : {0u, 10u, 1024u, 1025u, 5000u}) {
        Windows windows(WindowType::type_2);
        windows.bind(1, windows.key);
        windows.pair.b.post_receive(7, 8192, 5000);
        ASSERT_EQ(windows.send_invalidating(3, windows.key, bytes), 0);
        windows.pair.wire.run_until(idle);

        const auto received = windows.pair.b.receives();
        ASSERT_EQ(received.size(), 1u);
        EXPECT_EQ(received[0].status, Status::success);
        EXPECT_EQ(received[0].invalidated_key, windows.key);
        EXPECT_EQ(received[0].length_bytes, bytes);
        EXPECT_FALSE(received[0].has_immediate);
        EXPECT_EQ(windows.pair.a.sends().at(0).work, CompletedWork::send);
        EXPECT_EQ(windows.write(windows.key), Status::remote_access_error);
    }
}

TEST(Windows, ThatAPeerMayNotInvalidateStayOpenAndFailTheSend) {
    for (const WindowType type : {WindowType::type_1, WindowType::type_2}) {
        Windows windows(type);
        Peer& b = windows.pair.b;
        windows.bind(1, windows.key);
        b.post_receive(7, 8192, 100);
        const std::uint32_t wrong = windows.key + (type == WindowType::type_2 ? 1 : 0);
        windows.send_invalidating(3, wrong, 100);
        windows.pair.wire.run_until(idle);

        EXPECT_THAT(outcomes(windows.pair.a.sends()), ElementsAre(Status::remote_access_error));
        EXPECT_THAT(outcomes(b.receives()), ElementsAre(Status::flushed));
        EXPECT_THAT(b.events(), Contains(EventKind::qp_access_error));
        EXPECT_NE(b.device->memory().find_remote(windows.key, {1, b.queue_pair->number()},
                                                 b.address(0), 1, remote_write),
                  nullptr);
    }
}

TEST(Windows, AreInvalidatedByNoKeyOfARegion) {
    Windows windows(WindowType::type_2);
    windows.pair.b.post_receive(7, 8192, 100);
    windows.send_invalidating(3, windows.pair.b.key, 100);
    windows.pair.wire.run_until(idle);

    EXPECT_THAT(outcomes(windows.pair.a.sends()), ElementsAre(Status::remote_access_error));
}

TEST(Windows, AreBoundBeforeWhatIsPostedBehindIsSent) {
    Windows windows(WindowType::type_2);
    windows.pair.a.post_receive(1, 0, 10);
    bool bound_first = false;
    windows.pair.wire.tap = [&](std::size_t sender, std::vector<std::byte>&) {
        Peer& b = windows.pair.b;
        bound_first = sender == 1 &&
                      b.device->memory().may_invalidate(windows.key, {1, b.queue_pair->number()});
        return true;
    };

    windows.bind(1, windows.key);
    windows.pair.b.post_send(2, 0, 10);
    windows.pair.wire.run_for(1);

    EXPECT_TRUE(bound_first);
}

TEST(Windows, CompleteInOrderWithWhatElseIsPosted) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    const auto write = [&](std::uint64_t id) {
        b.post(Operation::write, id, b.slice(0, 3000), windows.pair.a, 0);
    };
    write(1);
    windows.bind(2, windows.key);
    windows.invalidate(3, windows.key);
    write(4);
    windows.bind(5, windows.key + 1);
    windows.pair.wire.run_for(1);
    EXPECT_THAT(b.sends(), IsEmpty());  // the first write is not acknowledged

    windows.pair.wire.run_until(idle);

    EXPECT_THAT(b.sends(), AllOf(ElementsAre(Field(&Completion::id, 1), Field(&Completion::id, 2),
                                             Field(&Completion::id, 3), Field(&Completion::id, 4),
                                             Field(&Completion::id, 5)),
                                 Each(Field(&Completion::status, Status::success))));
}

TEST(Windows, AreChangedOnceWhereWhatIsAroundThemIsSentAgain) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    int sent = 0;
    windows.pair.wire.tap = [&](std::size_t sender, std::vector<std::byte>&) {
        return sender == 0 || ++sent > 2;  // each write is lost once
    };

    b.post(Operation::write, 1, b.slice(0, 10), windows.pair.a, 0);
    windows.bind(2, windows.key);  // a second time it could not be
    b.post(Operation::write, 3, b.slice(0, 10), windows.pair.a, 0);
    windows.pair.wire.run_until(idle);

    EXPECT_GT(sent, 3);
    EXPECT_THAT(outcomes(b.sends()),
                ElementsAre(Status::success, Status::success, Status::success));
}

TEST(Windows, WaitBehindAFenceForReadsBeforeThem) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    const auto is_bound = [&] {
        return b.device->memory().may_invalidate(windows.key, {1, b.queue_pair->number()});
    };
    b.post(Operation::read, 1, b.slice(0, 10), windows.pair.a, 0);
    windows.bind(2, windows.key, fence);
    windows.pair.wire.run_for(1);
    EXPECT_FALSE(is_bound());

    windows.pair.wire.run_until(idle);

    EXPECT_TRUE(is_bound());
    EXPECT_THAT(outcomes(b.sends()), ElementsAre(Status::success, Status::success));
}

TEST(Windows, ThatCannotBeBoundFailTheQueuePairInTheirTurn) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    b.post(Operation::write, 1, b.slice(0, 10), windows.pair.a, 0);
    windows.bind(2, windows.key ^ 0x100);
    b.post(Operation::write, 3, b.slice(0, 10), windows.pair.a, 0);
    windows.pair.wire.run_until(idle);

    const auto done = b.sends();
    EXPECT_THAT(outcomes(done),
                ElementsAre(Status::success, Status::window_bind_error, Status::flushed));
    EXPECT_EQ(done.at(1).id, 2u);
    EXPECT_EQ(b.queue_pair->state(), State::error);
}

TEST(Windows, ThatAreNotOpenCannotBeInvalidated) {
    Windows windows(WindowType::type_2);
    windows.invalidate(1, windows.key);
    windows.pair.wire.run_until(idle);

    EXPECT_THAT(outcomes(windows.pair.b.sends()), ElementsAre(Status::window_bind_error));
}

TEST(Windows, OfAQueuePairThatIsDestroyedAreClosed) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    windows.bind(1, windows.key);
    windows.pair.wire.run_until(idle);
    const Accessor of_number{1, b.queue_pair->number()};
    ASSERT_TRUE(b.device->memory().may_invalidate(windows.key, of_number));

    b.device->destroy(b.queue_pair);

    EXPECT_FALSE(b.device->memory().may_invalidate(windows.key, of_number));
}

TEST(Windows, AreNotChangedWhileTheSendQueueDrains) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    ASSERT_EQ(b.modify_state(State::send_queue_drained), 0);
    windows.bind(1, windows.key);
    windows.pair.wire.run_until(idle);
    EXPECT_THAT(b.sends(), IsEmpty());

    ASSERT_EQ(b.modify_state(State::ready_to_send), 0);
    windows.pair.wire.run_until(idle);

    EXPECT_THAT(outcomes(b.sends()), ElementsAre(Status::success));
}

TEST(Windows, AreBoundOverUnreliableConnectionsAndNotInvalidatedByTheirPeers) {
    Windows windows(WindowType::type_2, {.transport = Transport::uc});
    windows.bind(1, windows.key);
    windows.pair.wire.run_until(idle);

    EXPECT_THAT(outcomes(windows.pair.b.sends()), ElementsAre(Status::success));
    EXPECT_EQ(windows.send_invalidating(2, windows.key, 10), EINVAL);
    EXPECT_EQ(windows.write(windows.key), Status::success);
}

TEST(Windows, AreNoMatterOfDatagrams) {
    Windows windows(WindowType::type_2, {.transport = Transport::ud});

    EXPECT_EQ(windows.bind(1, windows.key), EINVAL);
    EXPECT_EQ(windows.invalidate(2, windows.key), EINVAL);
    EXPECT_EQ(windows.send_invalidating(3, windows.key, 0), EINVAL);
}

TEST(Windows, AreBoundByARequestThatSaysToWhatAndHasNoData) {
    Windows windows(WindowType::type_2);
    Peer& b = windows.pair.b;
    const Slice data = b.slice(0, 8);
    const WindowBinding binding{windows.key, b.key, b.address(0), 100, remote_write};

    EXPECT_EQ(b.queue_pair->post_send({.operation = Operation::bind_window}), EINVAL);
    EXPECT_EQ(b.queue_pair->post_send(
                  {.operation = Operation::bind_window, .slices = {&data, 1}, .binding = &binding}),
              EINVAL);
    EXPECT_EQ(windows.bind(1, windows.key, inline_data), EINVAL);
}

}  // namespace
}  // namespace lanewise::verbs::testing
