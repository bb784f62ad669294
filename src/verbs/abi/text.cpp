// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers of the verbs interface as words, and rates as numbers.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace {

template <std::size_t Count>
const char *word(const std::array<const char *, Count>& words, int value, const char *otherwise) {
    const auto index = static_cast<std::size_t>(value);
    return value >= 0 && index < Count ? words[index] : otherwise;
}

constexpr std::array status_words{"success",
                                  "local length error",
                                  "local QP operation error",
                                  "local EE context operation error",
                                  "local protection error",
                                  "Work Request Flushed Error",
                                  "memory management operation error",
                                  "bad response error",
                                  "local access error",
                                  "remote invalid request error",
                                  "remote access error",
                                  "remote operation error",
                                  "transport retry counter exceeded",
                                  "RNR retry counter exceeded",
                                  "local RDD violation error",
                                  "remote invalid RD request",
                                  "aborted error",
                                  "invalid EE context number",
                                  "invalid EE context state",
                                  "fatal error",
                                  "response timeout error",
                                  "general error",
                                  "TM error",
                                  "TM software rendezvous"};

constexpr std::array event_words{"CQ error",
                                 "local work queue catastrophic error",
                                 "invalid request local work queue error",
                                 "local access violation work queue error",
                                 "communication established",
                                 "send queue drained",
                                 "path migrated",
                                 "path migration request error",
                                 "local catastrophic error",
                                 "port active",
                                 "port error",
                                 "LID change",
                                 "P_Key change",
                                 "SM change",
                                 "SRQ catastrophic error",
                                 "SRQ limit reached",
                                 "last WQE reached",
                                 "client reregistration",
                                 "GID table change",
                                 "WQ fatal"};

constexpr std::array node_words{"unknown",           "InfiniBand channel adapter",
                                "InfiniBand switch", "InfiniBand router",
                                "iWARP NIC",         "usNIC",
                                "usNIC UDP",         "unspecified"};

constexpr std::array port_words{"no state change (NOP)", "down", "init", "armed", "active",
                                "active defer"};

struct Rate {
    ibv_rate code;
    int multiple;  // of 2.5 Gb/s; 0 where it is none
    int mbps;
};

constexpr std::array<Rate, 23> rates{{
    {IBV_RATE_2_5_GBPS, 1, 2500},       {IBV_RATE_5_GBPS, 2, 5000},
    {IBV_RATE_10_GBPS, 4, 10000},       {IBV_RATE_20_GBPS, 8, 20000},
    {IBV_RATE_30_GBPS, 12, 30000},      {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},      {IBV_RATE_80_GBPS, 32, 80000},
    {IBV_RATE_120_GBPS, 48, 120000},    {IBV_RATE_28_GBPS, 11, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},      {IBV_RATE_400_GBPS, 160, 425000},
    {IBV_RATE_600_GBPS, 240, 637500},   {IBV_RATE_800_GBPS, 320, 850000},
    {IBV_RATE_1200_GBPS, 480, 1275000}, {IBV_RATE_14_GBPS, 0, 14062},
    {IBV_RATE_56_GBPS, 0, 56250},       {IBV_RATE_112_GBPS, 0, 112500},
    {IBV_RATE_168_GBPS, 0, 168750},     {IBV_RATE_25_GBPS, 0, 25781},
    {IBV_RATE_100_GBPS, 0, 103125},     {IBV_RATE_200_GBPS, 0, 206250},
    {IBV_RATE_300_GBPS, 0, 309375},
}};

template <typename Condition>
const Rate *find_rate(const Condition& condition) {
    const auto *found = std::find_if(rates.begin(), rates.end(), condition);
    return found == rates.end() ? nullptr : found;
}

}  // namespace

extern "C" {

const char *ibv_wc_status_str(ibv_wc_status status) {
    return word(status_words, status, "unknown");
}

const char *ibv_event_type_str(ibv_event_type event) {
    return word(event_words, event, "unknown");
}

const char *ibv_node_type_str(ibv_node_type node_type) {
    return word(node_words, node_type, "unknown");
}

const char *ibv_port_state_str(ibv_port_state port_state) {
    return word(port_words, port_state, "invalid state");
}

int ibv_rate_to_mult(ibv_rate rate) {
    const Rate *found = find_rate([&](const Rate& one) { return one.code == rate; });
    return found && found->multiple > 0 ? found->multiple : -1;
}

ibv_rate mult_to_ibv_rate(int mult) {
    const Rate *found =
        find_rate([&](const Rate& one) { return one.multiple > 0 && one.multiple == mult; });
    return found ? found->code : IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
    const Rate *found = find_rate([&](const Rate& one) { return one.code == rate; });
    return found ? found->mbps : -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
    const Rate *found = find_rate([&](const Rate& one) { return one.mbps == mbps; });
    return found ? found->code : IBV_RATE_MAX;
}

}  // extern "C"
