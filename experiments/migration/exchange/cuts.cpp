// SPDX-License-Identifier: BSD-3-Clause
#include "experiments/migration/exchange/cuts.hpp"

#include <net/if.h>
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
    const std::string *interface;
    bool up;
};

void set_up(const std::string& interface, bool up) {
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
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
    for (const Cut& cut : cuts_) {
        steps.push_back({nanoseconds(cut.at_s), &cut.interface, false});
        steps.push_back({nanoseconds(cut.at_s + cut.for_s), &cut.interface, true});
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.after_ns < b.after_ns; });
    std::size_t pulled = 0;
    for (const Step& step : steps) {
        const std::int64_t at = begin + held_ns() + step.after_ns;
        std::this_thread::sleep_for(std::chrono::nanoseconds(at - monotonic_ns()));
        const std::int64_t from = monotonic_ns();
        asked_ns_.store(from, std::memory_order_release);
        set_up(*step.interface, step.up);
        const std::int64_t done = monotonic_ns();
        held_ns_.fetch_add(done - from, std::memory_order_release);
        asked_ns_.store(0, std::memory_order_release);
        if (step.up) continue;
        pulled_[pulled] = {from, done};
        count_.store(++pulled, std::memory_order_release);
    }
}

}  // namespace lanewise::exchange
