// SPDX-License-Identifier: BSD-3-Clause

#include "experiments/migration/exchange/cuts.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"

namespace lanewise::exchange {
namespace {

struct Step {
    std::int64_t after_ns;  // after the start, by the clock of the cuts
    std::size_t cut;
    bool up;
};

// A socket in the network of a host. The calling thread is back in its own afterwards.
int socket_in(const std::string& host) {
    const int own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = host.empty() ? own : open(host.c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = setns(there, CLONE_NEWNET) == 0;
    const int made = entered ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    const int error = errno;
    setns(own, CLONE_NEWNET);
    if (!host.empty()) close(there);
    close(own);
    errno = error;
    return made;
}

void set_up(const std::string& host, const std::string& interface, bool up) {
    const int any = host.empty() ? socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0) : socket_in(host);
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    bool good = ioctl(any, SIOCGIFFLAGS, &request) == 0;
    const int flags = up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP;
    request.ifr_flags = static_cast<short>(flags);
    good = good && ioctl(any, SIOCSIFFLAGS, &request) == 0;
    if (!good) {
        std::fprintf(stderr, "lanewise-exchange: %s cannot be switched: %s\n", interface.c_str(),
                     std::strerror(errno));
    }
    close(any);
}

}  // namespace

Cuts::Cuts(std::vector<Cut> cuts) : cuts_(std::move(cuts)), pulled_(cuts_.size()) {}

void Cuts::ask_port_with(std::function<int()> port_in_use) {
    const std::lock_guard guard(asking_);
    asks_ = std::move(port_in_use);
}

int Cuts::port_in_use() {
    const std::lock_guard guard(asking_);
    return asks_ ? asks_() : 0;
}

void Cuts::start() {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

Cuts::~Cuts() {
    if (thread_.joinable()) thread_.join();
}

const std::vector<Pulled>& Cuts::finish() {
    if (thread_.joinable()) thread_.join();
    return pulled_;
}

std::int64_t Cuts::held_ns() const {
    const std::int64_t asked = asked_ns_.load(std::memory_order_acquire);
    const std::int64_t under_way = asked == 0 ? 0 : monotonic_ns() - asked;
    return held_ns_.load(std::memory_order_acquire) + under_way;
}

void Cuts::run() {
    const std::int64_t begin = monotonic_ns();
    std::vector<Step> steps;
    for (std::size_t number = 0; number < cuts_.size(); ++number) {
        const Cut& cut = cuts_[number];
        steps.push_back({nanoseconds(cut.at_s), number, false});
        steps.push_back({nanoseconds(cut.at_s + cut.for_s), number, true});
    }
    std::vector<std::string> interfaces(cuts_.size());  // that were pulled
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.after_ns < b.after_ns; });
    std::size_t pulled = 0;
    for (const Step& step : steps) {
        const std::int64_t at = begin + held_ns() + step.after_ns;
        std::this_thread::sleep_for(std::chrono::nanoseconds(at - monotonic_ns()));
        const Cut& cut = cuts_[step.cut];
        const int port = step.up ? 0 : port_in_use();
        const auto last = cut.interfaces.size() - 1;
        if (!step.up) {
            const auto used = static_cast<std::size_t>(std::max(port, 1) - 1);
            interfaces[step.cut] = cut.interfaces[std::min(used, last)];
        }
        const std::int64_t from = monotonic_ns();
        asked_ns_.store(from, std::memory_order_release);
        set_up(cut.host, interfaces[step.cut], step.up);
        const std::int64_t done = monotonic_ns();
        held_ns_.fetch_add(done - from, std::memory_order_release);
        asked_ns_.store(0, std::memory_order_release);
        if (step.up) continue;
        pulled_[pulled] = {from, done, interfaces[step.cut], port};
        count_.store(++pulled, std::memory_order_release);
    }
}

}  // namespace lanewise::exchange
