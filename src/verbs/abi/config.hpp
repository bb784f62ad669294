// SPDX-License-Identifier: BSD-3-Clause
//
// What `lanewise hca` asks of the library, handed over in the environment:
//
//   LANEWISE_HCA_PORTS        eth0,eth1   the interface of port 1, 2 (default: lo)
//   LANEWISE_HCA_PERSONALITY  ethernet | infiniband
//   LANEWISE_HCA_GRACE_MS     10000       how long to retry where every path is dead (default: 0)

#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace lanewise::verbs::abi {

inline constexpr std::size_t ports_max = 2;

enum class Personality : unsigned char { ethernet, infiniband };

struct Config {
    std::vector<std::string> interfaces{"lo"};
    Personality personality = Personality::ethernet;
    std::uint32_t grace_ms = 0;
};

// Null stands for a variable that is not set.
Result<Config> read_config(const char *ports, const char *personality,
                           const char *grace_ms = nullptr);

// From the environment of this process.
Result<Config> read_config();

}  // namespace lanewise::verbs::abi
