// SPDX-License-Identifier: BSD-3-Clause
//
// When and where notices are given and events are handed on, and what becomes of a process that has
// no descriptor or thread left. The device of the test has no ports, so each alternate is refused,
// which is a notice.

#include "paths/protection.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace lanewise::paths {
namespace {

using ::testing::HasSubstr;

constexpr auto limit = std::chrono::seconds(10);

// Of whose queue pair the next event is.
ibv_qp *subject = nullptr;

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
    made.get_async_event = [](ibv_context *context, ibv_async_event *event) {
        eventfd_t unused = 0;
        if (eventfd_read(context->async_fd, &unused) != 0) return -1;
        event->event_type = IBV_EVENT_COMM_EST;
        event->element.qp = subject;
        return 0;
    };
    made.ack_async_event = [](ibv_async_event *) {};
    return made;
}

int first_free_descriptor() {
    const int found = eventfd(0, EFD_CLOEXEC);
    close(found);
    return found;
}

bool is_blocked(int number) {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return sigismember(&blocked, number) == 1;
}

// While one lives, the process gets no further descriptor.
class NoDescriptors {
  public:
    NoDescriptors() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{0, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

  private:
    rlimit before_{};
};

// While one lives, the process gets no further thread: a stack would be as large as all addresses.
class NoThreads {
  public:
    NoThreads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t wanted;
        pthread_attr_init(&wanted);
        pthread_attr_setstacksize(&wanted, std::size_t{1} << 47U);
        pthread_setattr_default_np(&wanted);
        pthread_attr_destroy(&wanted);
    }
    ~NoThreads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;

  private:
    pthread_attr_t before_;
};

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

    static ProtectionOptions forwarding(std::function<void()> forward) {
        ProtectionOptions made;
        made.forward = [forward = std::move(forward)](const ibv_async_event&) {
            forward();
            return false;
        };
        return made;
    }

    std::unique_ptr<Protection> opened(ProtectionOptions options) {
        auto made = Protection::open(&context_, calls_without_ports(), std::move(options));
        return made ? std::move(*made) : nullptr;
    }

    void raise_event_of(ibv_qp& queue_pair) const {
        subject = &queue_pair;
        eventfd_write(context_.async_fd, 1);
    }

    ibv_context context_{};
    ibv_qp queue_pair_{};
};

TEST_F(ProtectionTest, GivesNoticesOnItsOwnThread) {
    std::promise<std::thread::id> noted;
    const auto protection =
        opened(noting([&](const Notice&) { noted.set_value(std::this_thread::get_id()); }));

    EXPECT_FALSE(protection->changed(&queue_pair_));

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
        const auto protection = opened(noting([&](const Notice& notice) {
            if (notice.queue_pair == &before) return are_waiting.get_future().wait();
            ++noted;
            made->forget(notice.queue_pair);
        }));
        made = protection.get();
        EXPECT_FALSE(protection->changed(&before));
        EXPECT_FALSE(protection->changed(&queue_pair_));
        EXPECT_FALSE(protection->load(&queue_pair_));
        are_waiting.set_value();
    }

    EXPECT_EQ(noted, 1);
}

TEST_F(ProtectionTest, GivesNoNoticeAboutAQueuePairOnceItHasForgottenIt) {
    std::promise<void> begun;
    std::atomic<bool> forgets = false;
    std::atomic<bool> is_over = false;
    const auto protection = opened(noting([&](const Notice&) {
        begun.set_value();
        while (!forgets) std::this_thread::yield();
        for (int turn = 0; turn < 1'000; ++turn) std::this_thread::yield();
        is_over = true;
    }));
    std::thread other([&] { static_cast<void>(protection->changed(&queue_pair_)); });
    begun.get_future().wait();

    forgets = true;
    protection->forget(&queue_pair_);

    EXPECT_TRUE(is_over);
    other.join();
}

TEST_F(ProtectionTest, AnswersCallsWhileItHandsAnEventOn) {
    std::promise<void> begun;
    std::promise<void> may_end;
    const auto protection = opened(forwarding([&] {
        begun.set_value();
        may_end.get_future().wait();
    }));
    raise_event_of(queue_pair_);
    ASSERT_EQ(begun.get_future().wait_for(limit), std::future_status::ready);

    const auto call = std::async(std::launch::async, [&] { return protection->watched(); });

    EXPECT_EQ(call.wait_for(limit), std::future_status::ready);
    may_end.set_value();
}

TEST_F(ProtectionTest, HandsNoEventOfAQueuePairOnOnceItHasForgottenIt) {
    std::promise<void> begun;
    std::atomic<bool> forgets = false;
    std::atomic<bool> is_over = false;
    const auto protection = opened(forwarding([&] {
        begun.set_value();
        while (!forgets) std::this_thread::yield();
        for (int turn = 0; turn < 1'000; ++turn) std::this_thread::yield();
        is_over = true;
    }));
    raise_event_of(queue_pair_);
    ASSERT_EQ(begun.get_future().wait_for(limit), std::future_status::ready);

    forgets = true;
    protection->forget(&queue_pair_);

    EXPECT_TRUE(is_over);
}

TEST_F(ProtectionTest, ForgetsAQueuePairWhoseEventItHandsOnIfThatAsksForIt) {
    std::promise<void> forgotten;
    Protection *made = nullptr;
    std::promise<void> is_made;
    const auto protection = opened(forwarding([&] {
        is_made.get_future().wait();
        made->forget(&queue_pair_);
        forgotten.set_value();
    }));
    made = protection.get();
    is_made.set_value();

    raise_event_of(queue_pair_);

    EXPECT_EQ(forgotten.get_future().wait_for(limit), std::future_status::ready);
}

// A device of two ports, which arms an alternate path at once and says nothing of a migration.
class TwoPorts {
  public:
    TwoPorts() {
        extended_.sz = sizeof extended_;
        extended_.query_port = [](ibv_context *, std::uint8_t, ibv_port_attr *port, std::size_t) {
            *port = {};
            port->state = IBV_PORT_ACTIVE;
            port->active_mtu = IBV_MTU_1024;
            port->gid_tbl_len = 1;
            return 0;
        };
        extended_.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        extended_.context.async_fd = eventfd(0, EFD_CLOEXEC);
    }
    ~TwoPorts() { close(extended_.context.async_fd); }
    TwoPorts(const TwoPorts&) = delete;
    TwoPorts& operator=(const TwoPorts&) = delete;

    ibv_context *context() { return &extended_.context; }
    static Calls calls();

  private:
    static ibv_gid address(int port, std::uint8_t host) {
        ibv_gid made{};
        made.raw[10] = made.raw[11] = 0xff;
        made.raw[12] = 10;
        made.raw[14] = static_cast<std::uint8_t>(port);
        made.raw[15] = host;
        return made;
    }

    verbs_context extended_{};
    static inline std::atomic<ibv_mig_state> state_{IBV_MIG_MIGRATED};
};

Calls TwoPorts::calls() {
    Calls made = calls_without_ports();
    made.query_device = [](ibv_context *, ibv_device_attr *attributes) {
        *attributes = {};
        attributes->phys_port_cnt = 2;
        return 0;
    };
    made.query_gid = [](ibv_context *, std::uint8_t port, int, ibv_gid *gid) {
        *gid = address(port, 1);
        return 0;
    };
    made.query_qp = [](ibv_qp *, ibv_qp_attr *attributes, int, ibv_qp_init_attr *) {
        *attributes = {};
        attributes->qp_state = IBV_QPS_RTS;
        attributes->path_mig_state = state_;
        attributes->path_mtu = IBV_MTU_1024;
        attributes->ah_attr.port_num = 1;
        attributes->ah_attr.is_global = 1;
        attributes->ah_attr.grh.dgid = address(1, 2);
        return 0;
    };
    made.modify_qp = [](ibv_qp *, ibv_qp_attr *, int mask) {
        state_ = mask & IBV_QP_ALT_PATH ? IBV_MIG_ARMED : IBV_MIG_MIGRATED;
        return 0;
    };
    return made;
}

TEST_F(ProtectionTest, DoesNotMigrateAQueuePairThatIsMigratingAlready) {
    TwoPorts device;
    const auto protection = std::move(*Protection::open(device.context(), TwoPorts::calls(), {}));
    ASSERT_TRUE(protection->changed(&queue_pair_));
    ASSERT_TRUE(protection->migrate(&queue_pair_));

    const Outcome second = protection->migrate(&queue_pair_);

    ASSERT_FALSE(second);
    EXPECT_EQ(second.failure().status, LW_ERR_ARGUMENT);
    EXPECT_THAT(second.failure().sentence, HasSubstr("migrating already"));
}

// While it reads an event, a program would find the device's own descriptor.
TEST_F(ProtectionTest, ShowsTheProgramsDescriptorExceptWhileThereIsAnEvent) {
    static std::atomic<int> reads;
    static Calls calls;
    const int own = context_.async_fd;
    const int shown = eventfd(0, EFD_CLOEXEC);
    std::promise<void> handed_on;
    ProtectionOptions options = forwarding([&] { handed_on.set_value(); });
    options.shown_events = shown;
    calls = calls_without_ports();
    Calls counting = calls;
    counting.get_async_event = [](ibv_context *context, ibv_async_event *event) {
        ++reads;
        return calls.get_async_event(context, event);
    };
    {
        const auto protection =
            std::move(*Protection::open(&context_, counting, std::move(options)));
        EXPECT_EQ(std::atomic_ref(context_.async_fd).load(), shown);
        eventfd_write(own, 1);
        ASSERT_EQ(handed_on.get_future().wait_for(limit), std::future_status::ready);
    }

    EXPECT_EQ(reads, 1);
    EXPECT_EQ(context_.async_fd, own);
    close(shown);
}

TEST_F(ProtectionTest, IsNotOpenedWhereNoDescriptorIsLeft) {
    const int flags = fcntl(context_.async_fd, F_GETFL);
    const auto open_now = [&] {
        const NoDescriptors none;
        return Protection::open(&context_, calls_without_ports(), {});
    };

    const auto refused = open_now();

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().status, LW_ERR_LIMIT);
    EXPECT_THAT(refused.failure().sentence, HasSubstr("ulimit -n"));
    EXPECT_EQ(fcntl(context_.async_fd, F_GETFL), flags);
}

TEST_F(ProtectionTest, LeavesEverythingAsItWasWhereNoThreadIsLeft) {
    const int flags = fcntl(context_.async_fd, F_GETFL);
    const int next_free = first_free_descriptor();
    const auto open_now = [&] {
        const NoThreads none;
        return Protection::open(&context_, calls_without_ports(), {});
    };

    const auto refused = open_now();

    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.failure().status, LW_ERR_LIMIT);
    EXPECT_THAT(refused.failure().sentence, HasSubstr("ulimit -u"));
    EXPECT_EQ(fcntl(context_.async_fd, F_GETFL), flags);
    EXPECT_EQ(first_free_descriptor(), next_free);
    EXPECT_FALSE(is_blocked(SIGUSR1));
}

}  // namespace
}  // namespace lanewise::paths
