// SPDX-License-Identifier: BSD-3-Clause
//
// Attributes of queue pairs: which a program has to give with a change of state, which of them are
// kept, and which the hardware's queue pairs that carry its messages get.

#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "paths/carried/agreement.hpp"
#include "paths/carried/verbs.hpp"

namespace lanewise::paths::carried {

// With a change of state (InfiniBand Architecture, table 91).
unsigned required_with(ibv_qp_state before, ibv_qp_state state);

// Replaces those that are given.
void keep(const ibv_qp_attr& given, unsigned mask, ibv_qp_attr& kept);

// For queue pairs that give no ack timeout: 4.096 us times 2^14.
inline constexpr std::uint8_t timeout_usual = 14;

// How a carrier begins an epoch.
struct Opening {
    const ibv_ah_attr& path;
    std::uint32_t peer_number = 0;
    std::uint32_t peer_psn = 0;
    std::uint32_t psn = 0;
    Terms terms;
    unsigned access = 0;
    std::uint8_t timeout = 0;  // 0: the usual one
};
// 0 or an errno. From the beginning: old packets have other packet numbers.
int open_carrier(const Verbs& verbs, ibv_qp *carrier, const Opening& opening);

// Lets the peer do this from now on: 0 or an errno. One that has failed is let alone, as the next
// is opened with what is kept.
int grant(const Verbs& verbs, ibv_qp *carrier, unsigned access);

}  // namespace lanewise::paths::carried
