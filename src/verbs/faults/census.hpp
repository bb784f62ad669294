// SPDX-License-Identifier: BSD-3-Clause
//
// What occurred in a process and could have met a fault, so that `lanewise rdma sweep` knows which
// faults there are, and what a process left behind.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "verbs/faults/plan.hpp"

namespace lanewise::verbs::faults {

class Census {
  public:
    using Counts = std::map<std::string, std::uint64_t, std::less<>>;

    void saw(Place place, std::string_view name);
    void left(std::string_view kind, std::uint64_t count);

    // A line of JSON: {"call": {"ibv_reg_mr": 1}, "completion": {"send": 20}, "left": {"ibv_mr":
    // 1}}
    std::string line() const;

  private:
    std::map<std::string, Counts, std::less<>> counts_;
};

}  // namespace lanewise::verbs::faults
