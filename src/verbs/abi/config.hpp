// SPDX-License-Identifier: BSD-3-Clause
//
// The settings of the software device, which `lanewise rdma run` passes in the environment:
//
//   LANEWISE_HCA_PORTS            eth0,eth1: the interface of port 1, 2 (default: lo); eth0;eth1:
//                                 two devices, lanewise0 and lanewise1, of one port each
//   LANEWISE_HCA_LINK_LAYER       ethernet | infiniband
//   LANEWISE_HCA_RETRY_WINDOW_MS  10000: how long to retry while every path is dead (default: 0)
//   LANEWISE_HCA_PROTECTED        1: datagrams leave on both ports, a port counts as active while
//                                 one is, and peers answer on a path before it is armed
//   LANEWISE_HCA_SHARED_MEMORY    0: packets for processes of this host go over UDP as well
//   LANEWISE_HCA_LMC              0 … 7
//   LANEWISE_HCA_LIDS             10.0.0.1=16,10.0.0.2=32 (default: derived from the addresses)
//   LANEWISE_HCA_CONGESTION       none: marked packets are not reported, and no sender slows
//                                 down (default: dcqcn)
//   LANEWISE_HCA_MTU              256 … 4096: the longest path MTU of a port
//   LANEWISE_HCA_PCAP             packets.pcap: a file for all packets
//
// The names of 0.1, LANEWISE_HCA_PERSONALITY and LANEWISE_HCA_GRACE_MS, are still read.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "verbs/proto/connection/attributes.hpp"
#include "verbs/proto/connection/device_context.hpp"
#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::abi {

inline constexpr std::size_t ports_max = 2;
inline constexpr std::size_t devices_max = 8;
inline constexpr unsigned lid_mask_bits_max = 7;

enum class LinkLayer : unsigned char { ethernet, infiniband };

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
    std::string name = "lanewise0";
    std::vector<std::string> interfaces{"lo"};
    LinkLayer link_layer = LinkLayer::ethernet;
    LidPlan lids;
    Mtu mtu_max = Mtu::b4096;
    std::uint32_t retry_window_ms = 0;  // 0: as the standard says
    bool is_protected = false;
    Congestion congestion = Congestion::dcqcn;
    bool uses_memory = true;  // between processes of this host
    std::string pcap;         // a file for the packets that come and go; empty: none
};

// The values of those variables; null if one is not set.
struct ConfigVariables {
    const char *ports = nullptr;
    const char *link_layer = nullptr;
    const char *lid_mask_bits = nullptr;
    const char *lids = nullptr;
    const char *mtu = nullptr;
    const char *pcap = nullptr;
    const char *retry_window_ms = nullptr;
    const char *is_protected = nullptr;
    const char *shared_memory = nullptr;
    const char *congestion = nullptr;
};

// The devices in the order of their numbers, one at least.
Result<std::vector<Config>> read_devices(const ConfigVariables& variables);

// From the environment of this process.
Result<std::vector<Config>> read_devices();

}  // namespace lanewise::verbs::abi
