// SPDX-License-Identifier: BSD-3-Clause
//
// What `lanewise hca` asks of the library, handed over in the environment:
//
//   LANEWISE_HCA_PORTS        eth0,eth1   the interface of port 1, 2 (default: lo)
//   LANEWISE_HCA_PERSONALITY  ethernet | infiniband
//   LANEWISE_HCA_GRACE_MS     10000       how long to retry where every path is dead (default: 0)
//   LANEWISE_HCA_LMC          0 … 7
//   LANEWISE_HCA_LIDS         10.0.0.1=16,10.0.0.2=32   the LIDs of addresses (default: from them)
//   LANEWISE_HCA_MTU          256 … 4096  the longest path MTU of a port
//   LANEWISE_HCA_PCAP         packets.pcap, where packets are to be captured

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::abi {

inline constexpr std::size_t ports_max = 2;
inline constexpr unsigned lid_mask_bits_max = 7;

enum class Personality : unsigned char { ethernet, infiniband };

// Which LIDs lead to which address.
struct LidPlan {
    struct Given {
        Address address{};
        std::uint16_t lid = 0;  // the first of 2^mask_bits
    };
    unsigned mask_bits = 0;    // LMC: a port has 2^LMC LIDs, and so many paths to another
    std::vector<Given> given;  // empty: they follow from the addresses
};

struct Config {
    std::vector<std::string> interfaces{"lo"};
    Personality personality = Personality::ethernet;
    LidPlan lids;
    Mtu mtu_max = Mtu::b4096;
    std::uint32_t retry_window_ms = 0;  // 0: as the standard says
    std::string pcap;            // a file for the packets that come and go; empty: none
};

// Null stands for a variable that is not set.
struct Settings {
    const char *ports = nullptr;
    const char *personality = nullptr;
    const char *lid_mask_bits = nullptr;
    const char *lids = nullptr;
    const char *mtu = nullptr;
    const char *pcap = nullptr;
    const char *retry_window_ms = nullptr;
};

Result<Config> read_config(const Settings& settings);

// From the environment of this process.
Result<Config> read_config();

}  // namespace lanewise::verbs::abi
