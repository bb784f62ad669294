// SPDX-License-Identifier: BSD-3-Clause
//
// Notices that one thread takes while another forgets them, as a program destroys an object whose
// event it is about to get.

#include "verbs/abi/notices.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

namespace lanewise::verbs::abi {
namespace {

constexpr int last = 50'000;

bool is_readable(const Notices<int>& notices) {
    pollfd ready{notices.descriptor(), POLLIN, 0};
    return poll(&ready, 1, 0) > 0;
}

TEST(Notices, AreReadableAsLongAsOneIsLeft) {
    Notices<int> notices;
    notices.add(1);
    notices.add(2);
    notices.forget_if([](int one) { return one == 1; });
    EXPECT_TRUE(is_readable(notices));
    EXPECT_EQ(notices.take([](int) {}), 2);
    EXPECT_FALSE(is_readable(notices));
    fcntl(notices.descriptor(), F_SETFL, O_NONBLOCK);
    EXPECT_FALSE(notices.take([](int) {}));
    EXPECT_EQ(errno, EAGAIN);
}

TEST(Notices, AreWaitedForAsLongAsAThreadHasNotTakenOne) {
    Notices<int> notices;
    std::thread taker([&] { notices.take([](int) {}); });
    while (!notices.is_waited_for()) std::this_thread::yield();
    notices.add(1);
    notices.forget_if([](int) { return true; });
    notices.add(2);
    taker.join();
    EXPECT_FALSE(notices.is_waited_for());
}

// Who destroys an object waits until what was taken has been acknowledged, so it must know of it.
TEST(Notices, AreForgottenOrCountedWhenTheyAreTakenAtThatMoment) {
    Notices<int> notices;
    std::atomic<int> counted = 0;
    std::atomic<bool> was_missed = false;
    std::thread taker([&] {
        while (notices.take([&](int one) { counted = one; }) != last) {
        }
    });
    for (int number = 1; number < last; ++number) {
        notices.add(number);
        bool forgotten = false;
        notices.forget_if([&](int one) { return forgotten = one == number; });
        if (!forgotten && counted != number) was_missed = true;
    }
    notices.add(last);
    taker.join();
    EXPECT_FALSE(was_missed);
    EXPECT_FALSE(is_readable(notices));
}

}  // namespace
}  // namespace lanewise::verbs::abi
