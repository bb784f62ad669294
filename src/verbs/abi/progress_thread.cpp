// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/progress_thread.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>
#include <vector>

#include "base/background_thread.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr Nanoseconds aside_least_ns = 50'000;
constexpr Nanoseconds aside_most_ns = 1'000'000;
constexpr unsigned long timer_slack_ns = 5'000;
// A program that polls comes back within some microseconds, one that does something else does not.
constexpr Nanoseconds between_polls_ns = 20'000;
constexpr Nanoseconds pause_ns = 50'000;
constexpr Nanoseconds linger_ns = 50'000;
constexpr int useless_max = 4;
constexpr std::uint64_t short_turn_ns = 100'000;

// The kernel's struct sched_attr, which has no header that goes together with <sched.h>.
struct SchedulingAttributes {
    std::uint32_t size = sizeof(SchedulingAttributes);
    std::uint32_t policy = SCHED_OTHER;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};

// Asks for short turns on the processor, which come sooner (EEVDF, Linux 6.12): the helper has
// little to do at a time, and somebody waits for it. Older kernels ignore or refuse it.
void ask_for_short_turns() {
    SchedulingAttributes attributes;
    attributes.nice = getpriority(PRIO_PROCESS, 0);
    attributes.runtime_ns = short_turn_ns;
    syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

timespec timespec_of(Nanoseconds duration) {
    constexpr Nanoseconds second = 1'000'000'000;
    return {static_cast<time_t>(duration / second), static_cast<long>(duration % second)};
}

}  // namespace

int ProgressThread::start() {
    wake_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake_) return errno;
    return start_background_thread(thread_, "lanewise-hca", [this] { run(); });
}

ProgressThread::~ProgressThread() {
    if (!thread_.joinable()) return;
    stop_ = true;
    eventfd_write(wake_.number(), 1);
    thread_.join();
}

void ProgressThread::deadline_changed() {
    const bool waits_for_room = adapter_.full_socket() != waits_for_room_of_;
    if (waits_for_room || adapter_.next_deadline() < wakes_at_.load(std::memory_order_relaxed)) {
        eventfd_write(wake_.number(), 1);
    }
}

void ProgressThread::run() {
    aside_for_ns_ = aside_least_ns;
    ask_for_short_turns();
    prctl(PR_SET_TIMERSLACK, timer_slack_ns);
    while (!stop_) {
        if (aside_) {
            stand_aside();
        } else {
            watch();
        }
    }
}

bool ProgressThread::polled_within(Nanoseconds duration) const {
    return polls_.within(duration, monotonic_ns());
}

bool ProgressThread::program_polls(Nanoseconds now) const {
    return aside_.load(std::memory_order_relaxed) && polls_.ended_within(pause_ns, now);
}

// Whoever posts next has the lock, and is to know what is waited for.
void ProgressThread::plan(Nanoseconds now) {
    const std::unique_lock guard(adapter_.lock(), std::try_to_lock);
    waits_for_room_of_ = adapter_.full_socket();
    if (!guard) {
        wakes_at_ = now + aside_most_ns;
        return;
    }
    // A wake that is already planned stays, even if its reason is gone: were it given up, the next
    // request would have to plan it again.
    const Nanoseconds planned = wakes_at_;
    // A ring in memory tells nobody when it has room again.
    const bool waits_for_memory = waits_for_room_of_ == port::Wire::no_socket;
    const Nanoseconds deadline =
        std::min(adapter_.next_deadline(), waits_for_memory ? now + pause_ns : never);
    wakes_at_ = planned > now ? std::min(planned, deadline) : deadline;
}

void ProgressThread::watch() {
    const Nanoseconds now = monotonic_ns();
    plan(now);
    const Nanoseconds left = std::max(wakes_at_ - now, Nanoseconds{0});
    const bool woken = wait(true, wakes_at_ == never ? never : left);
    if (stop_) return;
    if (woken && polled_within(between_polls_ns)) {
        stay_out();
        return;
    }
    make_progress();
}

// To sleep and be woken takes longer than the next packet of a stream: it stays for that a moment.
void ProgressThread::make_progress() {
    Nanoseconds now = monotonic_ns();
    Nanoseconds until = now;
    do {
        if (polled_within(between_polls_ns) || !try_progress(now, until)) {
            stay_out();
            return;
        }
        now = monotonic_ns();
    } while (now < until && !stop_);
}

bool ProgressThread::try_progress(Nanoseconds now, Nanoseconds& until) {
    const std::unique_lock guard(adapter_.lock(), std::try_to_lock);
    // Who has the lock makes progress. It may be waiting for this very processor.
    if (!guard) return false;
    useless_ = 0;
    if (adapter_.serve(now)) until = now + linger_ns;
    return true;
}

void ProgressThread::stay_out() {
    aside_ = ++useless_ >= useless_max;
    const timespec pause = timespec_of(pause_ns);
    nanosleep(&pause, nullptr);
}

void ProgressThread::stand_aside() {
    wakes_at_ = 0;
    waits_for_room_of_ = -1;
    wait(false, aside_for_ns_);
    if (polled_within(pause_ns)) {
        aside_for_ns_ = std::min(2 * aside_for_ns_, aside_most_ns);
        return;
    }
    aside_for_ns_ = aside_least_ns;
    aside_ = false;
    make_progress();
}

bool ProgressThread::wait(bool for_packets, Nanoseconds longest) {
    // A negative descriptor is passed over.
    std::array<pollfd, 6> wanted{
        pollfd{wake_.number(), POLLIN, 0},     pollfd{adapter_.watch(), POLLIN, 0},
        pollfd{adapter_.mailbox(), POLLIN, 0}, pollfd{adapter_.ended(), POLLIN, 0},
        pollfd{adapter_.socket(), POLLIN, 0},  pollfd{waits_for_room_of_, POLLOUT, 0}};
    const bool has_more = for_packets && adapter_.sleep();
    const timespec timeout = timespec_of(longest == never || has_more ? 0 : longest);
    const bool for_ever = longest == never && !has_more;
    const nfds_t count = for_packets ? wanted.size() : wanted.size() - 2;
    const int ready = ppoll(wanted.data(), count, for_ever ? nullptr : &timeout, nullptr);
    if (for_packets) adapter_.wake();
    if (wanted[3].revents || an_end_is_left_) {
        const std::lock_guard guard(adapter_.lock());
        an_end_is_left_ = adapter_.drop_ended();
    }
    if (ready <= 0) return has_more;
    if (wanted[0].revents) {
        eventfd_t unused = 0;
        eventfd_read(wake_.number(), &unused);
    }
    if (wanted[1].revents) {
        std::vector<port::Interface> found = adapter_.look_at_interfaces();
        const std::lock_guard guard(adapter_.lock());
        adapter_.take_interfaces(std::move(found));
    }
    if (wanted[2].revents) {
        const std::lock_guard guard(adapter_.lock());
        adapter_.take_forwarded();
    }
    return true;
}

}  // namespace lanewise::verbs::abi
