// SPDX-License-Identifier: BSD-3-Clause
//
// Pulls cables: takes interfaces of this network namespace down and up again while the program
// runs, and records the times. The kernel can take seconds for it while it removes another
// namespace, since one lock serves all of them. The clock of the cuts stands still meanwhile, so
// that a cable is out for as long as asked. The other host's cables can be pulled as well, where
// the program may enter its network.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "experiments/migration/exchange/settings.hpp"

namespace lanewise::exchange {

struct Pulled {
    std::int64_t from_ns = 0;  // before the request to the kernel
    std::int64_t done_ns = 0;  // after the kernel has done it
    std::string interface;
    int port_in_use = 0;  // at `from_ns`; 0: not known
};

class Cuts {
  public:
    explicit Cuts(std::vector<Cut> cuts);
    ~Cuts();
    Cuts(const Cuts&) = delete;
    Cuts& operator=(const Cuts&) = delete;

    // How to find out which port is in use; null: it is not known.
    void ask_port_with(std::function<int()> port_in_use);
    // Starts the clock of the cuts, unless it runs already.
    void start();
    // Waits until the last cable is back.
    const std::vector<Pulled>& finish();
    // The n-th cut; n is below count().
    const Pulled& pulled(std::size_t number) const { return pulled_[number]; }
    // How many have been pulled so far.
    std::size_t count() const { return count_.load(std::memory_order_acquire); }
    // How long the kernel has taken for what was asked of it so far, the last of it included.
    std::int64_t held_ns() const;

  private:
    void run();
    int port_in_use();

    std::vector<Cut> cuts_;
    std::vector<Pulled> pulled_;
    std::atomic<std::size_t> count_{0};
    std::atomic<std::int64_t> held_ns_{0};
    std::atomic<std::int64_t> asked_ns_{0};  // when the request under way began; 0: there is none
    std::mutex asking_;
    std::function<int()> asks_;
    std::thread thread_;
};

}  // namespace lanewise::exchange
