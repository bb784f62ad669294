// SPDX-License-Identifier: BSD-3-Clause
//
// When and where notices are given. The device of the test has no ports, so each alternate is
// refused, which is a notice.

#include "paths/protection.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace lanewise::paths {
namespace {

constexpr auto limit = std::chrono::seconds(10);

Calls calls_without_ports() {
    Calls made;
    made.query_device = [](ibv_context *, ibv_device_attr *attributes) {
        *attributes = {};
        return 0;
    };
    made.query_qp = [](ibv_qp *, ibv_qp_attr *attributes, int, ibv_qp_init_attr *) {
        *attributes = {};
        attributes->qp_state = IBV_QPS_RTS;
        attributes->port_num = 1;
        return 0;
    };
    made.get_async_event = [](ibv_context *, ibv_async_event *) { return -1; };
    return made;
}

class ProtectionTest : public ::testing::Test {
  protected:
    ProtectionTest() {
        context_.async_fd = eventfd(0, EFD_CLOEXEC);
        queue_pair_.qp_type = IBV_QPT_RC;
    }
    ~ProtectionTest() override { close(context_.async_fd); }

    static ProtectionOptions noting(std::function<void(const Notice&)> notice) {
        ProtectionOptions made;
        made.notice = std::move(notice);
        return made;
    }

    ibv_context context_{};
    ibv_qp queue_pair_{};
};

TEST_F(ProtectionTest, GivesNoticesOnItsOwnThread) {
    std::promise<std::thread::id> noted;
    Protection protection(&context_, calls_without_ports(), noting([&](const Notice&) {
        noted.set_value(std::this_thread::get_id());
    }));

    EXPECT_FALSE(protection.changed(&queue_pair_));

    std::future<std::thread::id> thread = noted.get_future();
    ASSERT_EQ(thread.wait_for(limit), std::future_status::ready);
    EXPECT_NE(thread.get(), std::this_thread::get_id());
}

TEST_F(ProtectionTest, GivesNoFurtherNoticeAboutAQueuePairThatACallbackForgets) {
    ibv_qp before{};
    before.qp_type = IBV_QPT_RC;
    std::promise<void> are_waiting;
    int noted = 0;
    Protection *made = nullptr;
    {
        Protection protection(&context_, calls_without_ports(), noting([&](const Notice& notice) {
            if (notice.queue_pair == &before) return are_waiting.get_future().wait();
            ++noted;
            made->forget(notice.queue_pair);
        }));
        made = &protection;
        EXPECT_FALSE(protection.changed(&before));
        EXPECT_FALSE(protection.changed(&queue_pair_));
        EXPECT_FALSE(protection.load(&queue_pair_));
        are_waiting.set_value();
    }

    EXPECT_EQ(noted, 1);
}

TEST_F(ProtectionTest, GivesNoNoticeAboutAQueuePairOnceItHasForgottenIt) {
    std::promise<void> begun;
    std::atomic<bool> forgets = false;
    std::atomic<bool> is_over = false;
    Protection protection(&context_, calls_without_ports(), noting([&](const Notice&) {
        begun.set_value();
        while (!forgets) std::this_thread::yield();
        for (int turn = 0; turn < 1'000; ++turn) std::this_thread::yield();
        is_over = true;
    }));
    std::thread other([&] { static_cast<void>(protection.changed(&queue_pair_)); });
    begun.get_future().wait();

    forgets = true;
    protection.forget(&queue_pair_);

    EXPECT_TRUE(is_over);
    other.join();
}

}  // namespace
}  // namespace lanewise::paths
