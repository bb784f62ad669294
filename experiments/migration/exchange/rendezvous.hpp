// SPDX-License-Identifier: BSD-3-Clause
//
// Rendezvous: a TCP connection over which the two programs exchange what they need to start and
// end.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/migration/exchange/settings.hpp"

namespace lanewise::exchange {

class Rendezvous {
  public:
    explicit Rendezvous(const Settings& settings);
    ~Rendezvous();
    Rendezvous(const Rendezvous&) = delete;
    Rendezvous& operator=(const Rendezvous&) = delete;

    // Sends `mine` and returns as many numbers of the peer; calls `meanwhile` until they arrive.
    std::vector<std::uint64_t> swap(const std::vector<std::uint64_t>& mine,
                                    const std::function<void()>& meanwhile = nullptr);

  private:
    int socket_ = -1;
};

}  // namespace lanewise::exchange
