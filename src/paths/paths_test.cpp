// SPDX-License-Identifier: BSD-3-Clause
//
// What a program gets from the C interface. The test answers for libibverbs: its device has no
// ports, so that no alternate can be loaded, and it raises the events that the test names.

#include <lanewise/paths.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

std::atomic<bool> knows_queue_pairs{true};
std::atomic<ibv_event_type> raised_event{IBV_EVENT_DEVICE_FATAL};

}  // namespace

int ibv_query_device(ibv_context *, ibv_device_attr *attributes) {
    *attributes = {};
    attributes->device_cap_flags = IBV_DEVICE_AUTO_PATH_MIG;
    return 0;
}

int ibv_query_qp(ibv_qp *, ibv_qp_attr *attributes, int, ibv_qp_init_attr *) {
    if (!knows_queue_pairs) return EIO;
    *attributes = {};
    attributes->qp_state = IBV_QPS_RTS;
    attributes->port_num = 1;
    return 0;
}

int ibv_modify_qp(ibv_qp *, ibv_qp_attr *, int) {
    return 0;
}

int ibv_query_gid(ibv_context *, uint8_t, int, ibv_gid *) {
    return EIO;
}

int ibv_get_async_event(ibv_context *context, ibv_async_event *event) {
    eventfd_t unused = 0;
    if (eventfd_read(context->async_fd, &unused) != 0) return -1;
    event->event_type = raised_event;
    return 0;
}

void ibv_ack_async_event(ibv_async_event *) {}

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto limit = std::chrono::seconds(10);

// What the callbacks were told.
struct Told {
    std::mutex lock;
    std::condition_variable more;
    std::vector<lw_status> statuses;
    std::vector<std::string> sentences;
    std::vector<lw_paths_notice> notices;

    bool wait_for_notices(std::size_t count) {
        std::unique_lock guard(lock);
        return more.wait_for(guard, limit, [&] { return notices.size() >= count; });
    }
};

void keep_report(void *told, lw_status status, const char *sentence) {
    auto& all = *static_cast<Told *>(told);
    const std::lock_guard guard(all.lock);
    all.statuses.push_back(status);
    all.sentences.emplace_back(sentence);
}

void keep_notice(void *told, lw_paths_notice notice, ibv_qp *, uint8_t, int64_t) {
    auto& all = *static_cast<Told *>(told);
    const std::lock_guard guard(all.lock);
    all.notices.push_back(notice);
    all.more.notify_all();
}

class PathsTest : public ::testing::Test {
  protected:
    PathsTest() {
        context_.async_fd = eventfd(0, EFD_CLOEXEC);
        queue_pair_.qp_type = IBV_QPT_RC;
        options_.settle_ns = 0;
        options_.report = keep_report;
        options_.notice = keep_notice;
        options_.callback_context = &told_;
    }
    ~PathsTest() override {
        lw_paths_close(paths_);
        close(context_.async_fd);
        knows_queue_pairs = true;
    }

    void raise_event(ibv_event_type event) {
        raised_event = event;
        eventfd_write(context_.async_fd, 1);
    }

    Told told_;
    ibv_context context_{};
    ibv_qp queue_pair_{};
    lw_paths_options options_ = LW_PATHS_OPTIONS;
    lw_paths *paths_ = nullptr;
};

TEST_F(PathsTest, AFailedAddIsReportedOnceAndAsWhatItReturns) {
    ASSERT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_OK);

    const lw_status status = lw_paths_add(paths_, &queue_pair_);

    EXPECT_EQ(status, LW_ERR_NOT_FOUND);
    ASSERT_TRUE(told_.wait_for_notices(1));
    EXPECT_THAT(told_.notices, ElementsAre(LW_PATHS_REFUSED));
    EXPECT_THAT(told_.statuses, ElementsAre(status));
}

TEST_F(PathsTest, WhatTheThreadCannotLoadIsReportedAsWhatItIs) {
    ASSERT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_OK);
    ASSERT_EQ(lw_paths_add(paths_, &queue_pair_), LW_ERR_NOT_FOUND);
    ASSERT_TRUE(told_.wait_for_notices(1));

    knows_queue_pairs = false;
    raise_event(IBV_EVENT_GID_CHANGE);

    ASSERT_TRUE(told_.wait_for_notices(2));
    EXPECT_THAT(told_.statuses, ElementsAre(LW_ERR_NOT_FOUND, LW_ERR_IO));
    EXPECT_THAT(told_.sentences.back(), HasSubstr("cannot be queried"));
}

TEST_F(PathsTest, AQueuePairWithoutAlternateIsNeitherLoadedNorMigrated) {
    ASSERT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_OK);
    ASSERT_EQ(lw_paths_add(paths_, &queue_pair_), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_paths_specify(paths_, &queue_pair_, nullptr), LW_ERR_NOT_FOUND);
    ibv_qp *const all[] = {&queue_pair_};

    EXPECT_EQ(lw_paths_load(paths_, all, 1), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_paths_migrate(paths_, all, 1), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_paths_migrate(paths_, nullptr, 0), LW_OK);
    lw_paths_remove(paths_, &queue_pair_);
    lw_paths_state state = LW_PATHS_STATE;
    EXPECT_EQ(lw_paths_query(paths_, &queue_pair_, &state), LW_ERR_NOT_FOUND);
}

TEST_F(PathsTest, APathOfAnotherSizeIsNotRead) {
    ASSERT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_OK);
    lw_path path{};
    path.struct_size = 7;

    EXPECT_EQ(lw_paths_specify(paths_, &queue_pair_, &path), LW_ERR_ARGUMENT);
}

// What a program shares with its callback.
struct Shared {
    std::mutex held_by_program;
    std::promise<void> begun;
};

TEST_F(PathsTest, AnEventMayWaitForALockThatTheProgramHoldsInACall) {
    Shared shared;
    options_.notice = nullptr;
    options_.report = nullptr;
    options_.callback_context = &shared;
    options_.other = [](void *context, const ibv_async_event *) {
        static_cast<Shared *>(context)->begun.set_value();
        const std::lock_guard guard(static_cast<Shared *>(context)->held_by_program);
    };
    ASSERT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_OK);
    std::unique_lock program(shared.held_by_program);
    raise_event(IBV_EVENT_SM_CHANGE);
    ASSERT_EQ(shared.begun.get_future().wait_for(limit), std::future_status::ready);

    const auto call = std::async(std::launch::async, [&] {
        lw_paths_state state = LW_PATHS_STATE;
        return lw_paths_query(paths_, &queue_pair_, &state);
    });

    EXPECT_EQ(call.wait_for(limit), std::future_status::ready);
    program.unlock();
    lw_paths_close(std::exchange(paths_, nullptr));
}

TEST_F(PathsTest, OpeningWithoutADescriptorLeftFailsWithTheLimit) {
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit none{0, before.rlim_max};
    // What checks each use of the fixture needs descriptors itself.
    ibv_context *context = &context_;
    const lw_paths_options *options = &options_;
    lw_paths **paths = &paths_;
    setrlimit(RLIMIT_NOFILE, &none);
    const lw_status status = lw_paths_open(context, options, paths);
    setrlimit(RLIMIT_NOFILE, &before);

    EXPECT_EQ(status, LW_ERR_LIMIT);
    EXPECT_EQ(paths_, nullptr);
    EXPECT_THAT(told_.sentences, ElementsAre(HasSubstr("ulimit -n")));
}

TEST_F(PathsTest, OptionsOfAnotherSizeAreNotRead) {
    options_.struct_size = 7;

    EXPECT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_ERR_ARGUMENT);

    EXPECT_EQ(paths_, nullptr);
    EXPECT_THAT(told_.statuses, IsEmpty());
}

TEST_F(PathsTest, WhatAReportThrowsReachesTheProgramAndItIsCalledOnce) {
    options_.settle_ns = -1;
    options_.report = [](void *told, lw_status status, const char *sentence) {
        keep_report(told, status, sentence);
        throw 5;
    };

    EXPECT_THROW(lw_paths_open(&context_, &options_, &paths_), int);

    EXPECT_THAT(told_.statuses, ElementsAre(LW_ERR_ARGUMENT));
}

// A C program can store any number in an enumeration. Sanitizers stop a C++ program that does.
#ifndef LANEWISE_SANITIZES_ADDRESSES
TEST_F(PathsTest, AnUnknownInitiativeIsRefused) {
    const int number = 2;
    std::memcpy(&options_.initiative, &number, sizeof number);

    EXPECT_EQ(lw_paths_open(&context_, &options_, &paths_), LW_ERR_ARGUMENT);

    EXPECT_THAT(told_.sentences, ElementsAre(HasSubstr("LW_PATHS_AUTOMATIC")));
}
#endif

}  // namespace
