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
    std::int64_t at_ns;
    const std::string *interface;
    bool up;
};

std::int64_t nanoseconds(double seconds) {
    return static_cast<std::int64_t>(seconds * 1e9);
}

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

void Cuts::run() {
    const std::int64_t begin = monotonic_ns();
    std::vector<Step> steps;
    for (const Cut& cut : cuts_) {
        steps.push_back({begin + nanoseconds(cut.at_s), &cut.interface, false});
        steps.push_back({begin + nanoseconds(cut.at_s + cut.for_s), &cut.interface, true});
    }
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.at_ns < b.at_ns; });
    std::size_t pulled = 0;
    for (const Step& step : steps) {
        const auto left = std::chrono::nanoseconds(step.at_ns - monotonic_ns());
        std::this_thread::sleep_for(left);
        const std::int64_t from = monotonic_ns();
        set_up(*step.interface, step.up);
        if (step.up) continue;
        pulled_[pulled] = {from, monotonic_ns()};
        count_.store(++pulled, std::memory_order_release);
    }
}

}  // namespace lanewise::exchange
