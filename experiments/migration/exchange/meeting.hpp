// SPDX-License-Identifier: BSD-3-Clause
//
// A TCP connection over which the two programs tell each other what they need to begin and to end.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/migration/exchange/settings.hpp"

namespace lanewise::exchange {

class Meeting {
  public:
    explicit Meeting(const Settings& settings);
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    // Both give as many numbers as they get; `meanwhile` is called until the peer's are there.
    std::vector<std::uint64_t> swap(const std::vector<std::uint64_t>& mine,
                                    const std::function<void()>& meanwhile = nullptr);

  private:
    int socket_ = -1;
};

}  // namespace lanewise::exchange
