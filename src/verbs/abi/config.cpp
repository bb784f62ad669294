// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/abi/config.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

#include "verbs/port/address.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr unsigned first_multicast_lid = 0xc000;

Failure refusal(std::string_view variable, std::string_view value, std::string_view what) {
    return {LW_ERR_ARGUMENT, fmt::format("{}={} {}", variable, value, what)};
}

// 10.0.0.1=16
std::optional<LidPlan::Given> read_given(const std::string& text, unsigned mask_bits) {
    const std::size_t equals = text.find('=');
    in_addr address{};
    if (equals == std::string::npos ||
        inet_pton(AF_INET, text.substr(0, equals).c_str(), &address) != 1) {
        return std::nullopt;
    }
    unsigned lid = 0;
    const char *end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + equals + 1, end, lid);
    const bool fits = lid >= 1 && lid < first_multicast_lid && lid % (1U << mask_bits) == 0;
    if (read.ec != std::errc{} || read.ptr != end || !fits) return std::nullopt;
    return LidPlan::Given{port::address_of(address), static_cast<std::uint16_t>(lid)};
}

std::optional<std::vector<LidPlan::Given>> read_lids(const char *text, unsigned mask_bits) {
    std::vector<LidPlan::Given> given;
    std::istringstream entries(text);
    for (std::string entry; std::getline(entries, entry, ',');) {
        const std::optional<LidPlan::Given> one = read_given(entry, mask_bits);
        if (!one) return std::nullopt;
        given.push_back(*one);
    }
    return given;
}

const char *variable(const char *name, const char *old_name) {
    const char *value = std::getenv(name);
    return value ? value : std::getenv(old_name);
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream{std::string(text)};
    for (std::string part; std::getline(stream, part, separator);) {
        if (!part.empty()) parts.push_back(part);
    }
    return parts;
}

// A file for each device: the first has the name as it is.
std::string capture_of(const std::string& file, std::size_t number, const std::string& device) {
    return file.empty() || number == 0 ? file : file + "." + device;
}

std::optional<Mtu> read_mtu(std::string_view text) {
    for (const Mtu mtu : {Mtu::b256, Mtu::b512, Mtu::b1024, Mtu::b2048, Mtu::b4096}) {
        if (text == std::to_string(mtu_bytes(mtu))) return mtu;
    }
    return std::nullopt;
}

// A variable that is 0 or 1.
struct Switch {
    const char *name;
    const char *text;
    bool *value;
};

// All but the name and the interfaces, which differ from device to device.
Result<Config> read_common(const ConfigVariables& variables) {
    Config config;
    if (const char *bits = variables.lid_mask_bits; bits && *bits) {
        const bool is_digit = bits[0] >= '0' && bits[0] <= '7' && bits[1] == '\0';
        if (!is_digit) {
            return Failure{LW_ERR_ARGUMENT, fmt::format("LANEWISE_HCA_LMC={} is not 0 to {}", bits,
                                                        lid_mask_bits_max)};
        }
        config.lids.mask_bits = static_cast<unsigned>(bits[0] - '0');
    }
    if (const char *lids = variables.lids; lids && *lids) {
        const auto given = read_lids(lids, config.lids.mask_bits);
        if (!given) {
            return refusal(
                "LANEWISE_HCA_LIDS", lids,
                "is not a list of ADDRESS=LID with LIDs below 49152, multiples of 2^LMC");
        }
        config.lids.given = *given;
    }
    if (const char *mtu = variables.mtu; mtu && *mtu) {
        const std::optional<Mtu> read = read_mtu(mtu);
        if (!read) return refusal("LANEWISE_HCA_MTU", mtu, "is not 256, 512, 1024, 2048 or 4096");
        config.mtu_max = *read;
    }
    if (variables.pcap) config.pcap = variables.pcap;
    const char *link_layer = variables.link_layer;
    const std::string_view wanted = link_layer ? link_layer : "";
    if (wanted == "infiniband") {
        config.link_layer = LinkLayer::infiniband;
    } else if (!wanted.empty() && wanted != "ethernet") {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_LINK_LAYER={} is unknown; use ethernet or "
                                   "infiniband",
                                   wanted)};
    }
    const std::string_view window = variables.retry_window_ms ? variables.retry_window_ms : "";
    const auto read = std::from_chars(window.begin(), window.end(), config.retry_window_ms);
    if (!window.empty() && (read.ec != std::errc{} || read.ptr != window.end())) {
        return refusal("LANEWISE_HCA_RETRY_WINDOW_MS", window, "is not a number of milliseconds");
    }
    for (const auto& [name, text, value] :
         {Switch{"LANEWISE_HCA_PROTECTED", variables.is_protected, &config.is_protected},
          Switch{"LANEWISE_HCA_SHARED_MEMORY", variables.shared_memory, &config.uses_memory}}) {
        const std::string_view given = text ? text : "";
        if (given.empty()) continue;
        if (given != "0" && given != "1") return refusal(name, given, "is unknown; use 0 or 1");
        *value = given == "1";
    }
    const std::string_view congestion = variables.congestion ? variables.congestion : "";
    if (congestion == "none") {
        config.congestion = Congestion::none;
    } else if (!congestion.empty() && congestion != "dcqcn") {
        return refusal("LANEWISE_HCA_CONGESTION", congestion, "is unknown; use dcqcn or none");
    }
    return config;
}

}  // namespace

Result<std::vector<Config>> read_devices(const ConfigVariables& variables) {
    const Result<Config> common = read_common(variables);
    if (!common) return common.failure();
    const std::string ports = variables.ports && *variables.ports ? variables.ports : "lo";
    const std::vector<std::string> groups = split(ports, ';');
    if (groups.empty() || groups.size() > devices_max) {
        return Failure{LW_ERR_ARGUMENT,
                       fmt::format("LANEWISE_HCA_PORTS={} names {} devices; name 1 to {}", ports,
                                   groups.size(), devices_max)};
    }
    std::vector<Config> devices;
    for (const std::string& group : groups) {
        Config device = *common;
        device.name = fmt::format("lanewise{}", devices.size());
        device.interfaces = split(group, ',');
        if (device.interfaces.empty() || device.interfaces.size() > ports_max) {
            return Failure{LW_ERR_ARGUMENT,
                           fmt::format("LANEWISE_HCA_PORTS={} names {} interfaces of {}; name 1 "
                                       "or {}",
                                       ports, device.interfaces.size(), device.name, ports_max)};
        }
        device.pcap = capture_of(device.pcap, devices.size(), device.name);
        devices.push_back(std::move(device));
    }
    return devices;
}

Result<std::vector<Config>> read_devices() {
    return read_devices(
        {.ports = std::getenv("LANEWISE_HCA_PORTS"),
         .link_layer = variable("LANEWISE_HCA_LINK_LAYER", "LANEWISE_HCA_PERSONALITY"),
         .lid_mask_bits = std::getenv("LANEWISE_HCA_LMC"),
         .lids = std::getenv("LANEWISE_HCA_LIDS"),
         .mtu = std::getenv("LANEWISE_HCA_MTU"),
         .pcap = std::getenv("LANEWISE_HCA_PCAP"),
         .retry_window_ms = variable("LANEWISE_HCA_RETRY_WINDOW_MS", "LANEWISE_HCA_GRACE_MS"),
         .is_protected = std::getenv("LANEWISE_HCA_PROTECTED"),
         .shared_memory = std::getenv("LANEWISE_HCA_SHARED_MEMORY"),
         .congestion = std::getenv("LANEWISE_HCA_CONGESTION")});
}

}  // namespace lanewise::verbs::abi
