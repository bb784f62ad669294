// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/abi/config.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace lanewise::verbs::abi {

Result<Config> read_config(const Settings& settings) {
    Config config;
    const char *ports = settings.ports;
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
    if (const char *bits = settings.lid_mask_bits; bits && *bits) {
        const bool is_digit = bits[0] >= '0' && bits[0] <= '7' && bits[1] == '\0';
        if (!is_digit) {
            return Failure{LW_ERR_ARGUMENT, fmt::format("LANEWISE_HCA_LMC={} is not 0 to {}", bits,
                                                        lid_mask_bits_max)};
        }
        config.lid_mask_bits = static_cast<unsigned>(bits[0] - '0');
    }
    if (settings.pcap) config.pcap = settings.pcap;
    const char *personality = settings.personality;
    const std::string_view wanted = personality ? personality : "";
    if (wanted == "infiniband") {
        config.personality = Personality::infiniband;
    } else if (!wanted.empty() && wanted != "ethernet") {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_PERSONALITY={} is unknown; say ethernet or "
                                   "infiniband",
                                   wanted)};
    }
    const std::string_view grace = settings.grace_ms ? settings.grace_ms : "";
    const auto read = std::from_chars(grace.begin(), grace.end(), config.grace_ms);
    if (!grace.empty() && (read.ec != std::errc{} || read.ptr != grace.end())) {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_GRACE_MS={} is no number of milliseconds", grace)};
    }
    return config;
}

Result<Config> read_config() {
    return read_config({.ports = std::getenv("LANEWISE_HCA_PORTS"),
                        .personality = std::getenv("LANEWISE_HCA_PERSONALITY"),
                        .lid_mask_bits = std::getenv("LANEWISE_HCA_LMC"),
                        .pcap = std::getenv("LANEWISE_HCA_PCAP"),
                        .grace_ms = std::getenv("LANEWISE_HCA_GRACE_MS")});
}

}  // namespace lanewise::verbs::abi
