// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace lanewise::verbs::abi {

Result<Config> read_config(const char *ports, const char *personality, const char *grace_ms) {
    Config config;
    if (ports && *ports) {
        config.interfaces.clear();
        std::istringstream names(ports);
        for (std::string name; std::getline(names, name, ',');) {
            if (!name.empty()) config.interfaces.push_back(name);
        }
    }
    if (config.interfaces.empty() || config.interfaces.size() > ports_max) {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_PORTS={} names {} interfaces; name 1 or {}", ports,
                                   config.interfaces.size(), ports_max)};
    }
    const std::string_view wanted = personality ? personality : "";
    if (wanted == "infiniband") {
        config.personality = Personality::infiniband;
    } else if (!wanted.empty() && wanted != "ethernet") {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_PERSONALITY={} is unknown; say ethernet or "
                                   "infiniband",
                                   wanted)};
    }
    const std::string_view grace = grace_ms ? grace_ms : "";
    const auto read = std::from_chars(grace.begin(), grace.end(), config.grace_ms);
    if (!grace.empty() && (read.ec != std::errc{} || read.ptr != grace.end())) {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_GRACE_MS={} is no number of milliseconds", grace)};
    }
    return config;
}

Result<Config> read_config() {
    return read_config(std::getenv("LANEWISE_HCA_PORTS"), std::getenv("LANEWISE_HCA_PERSONALITY"),
                       std::getenv("LANEWISE_HCA_GRACE_MS"));
}

}  // namespace lanewise::verbs::abi
