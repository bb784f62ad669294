// SPDX-License-Identifier: BSD-3-Clause
//
// The headers of InfiniBand transport packets as values (IBA 1, chapter 9). packet.hpp says how
// they stand on the wire; here every field is in the byte order of the host, save the immediate
// datum, which verbs hand over in network order and nobody looks into.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

struct BaseHeader {  // BTH
    std::uint8_t opcode = 0;
    bool solicited = false;
    bool migration_request = false;
    bool ack_request = false;
    bool backward_congestion = false;  // BECN
    std::uint8_t pad_bytes = 0;
    std::uint16_t pkey = 0xffff;
    std::uint32_t destination_qpn = 0;
    Psn psn;
};

struct DatagramHeader {  // DETH
    std::uint32_t qkey = 0;
    std::uint32_t source_qpn = 0;
};

struct RdmaHeader {  // RETH
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint32_t length_bytes = 0;
};

struct AtomicHeader {  // AtomicETH
    std::uint64_t address = 0;
    std::uint32_t rkey = 0;
    std::uint64_t swap_or_add = 0;
    std::uint64_t compare = 0;
};

struct AckHeader {  // AETH
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;
};

// The syndrome: two bits say what, five bits say more (IBA 1, table 43).
enum class Acknowledgement : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };
enum class NakCode : std::uint8_t {
    psn_sequence = 0,
    invalid_request = 1,
    remote_access = 2,
    remote_operational = 3,
    invalid_rd_request = 4,
};

constexpr Acknowledgement acknowledgement_of(std::uint8_t syndrome) {
    return static_cast<Acknowledgement>((syndrome >> 5) & 3);
}
constexpr std::uint8_t value_of(std::uint8_t syndrome) {
    return syndrome & 31;
}
constexpr std::uint8_t syndrome(Acknowledgement what, std::uint8_t value) {
    return static_cast<std::uint8_t>((static_cast<unsigned>(what) << 5) | (value & 31u));
}
constexpr std::uint8_t syndrome(NakCode code) {
    return syndrome(Acknowledgement::nak, static_cast<std::uint8_t>(code));
}

// An acknowledgement that grants credits without limit; what a shared receive queue must say.
inline constexpr std::uint8_t credits_unlimited = 31;

// Its credits: how many receive requests are posted, in five bits (IBA 1, table 46).
inline constexpr std::array<std::uint32_t, 31> credit_counts{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

constexpr std::uint32_t credits_of(std::uint8_t code) {
    return code < credit_counts.size() ? credit_counts[code] : 0;
}

// The greatest code that does not promise more than there is.
constexpr std::uint8_t credit_code(std::uint32_t requests) {
    const auto *above = std::upper_bound(credit_counts.begin(), credit_counts.end(), requests);
    return static_cast<std::uint8_t>(above - credit_counts.begin() - 1);
}

}  // namespace lanewise::verbs
