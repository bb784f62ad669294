// SPDX-License-Identifier: BSD-3-Clause
//
// The messages of the connection manager as values: what is in a management datagram of class 7
// (IBA 1, 12.6). The order and width of the fields are in one place, message.cpp, for reading and
// for writing. Every message but one for datagrams speaks of a connection, which each end has
// numbered for itself: `local_id` is the number of who sends the message.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verbs/proto/wire/address.hpp"

namespace lanewise::verbs::cm {

using Bytes = std::vector<std::byte>;

// The queue pair of general services, and its key (IBA 1, 3.9.5.3 and 10.2.5).
inline constexpr std::uint32_t services_qpn = 1;
inline constexpr std::uint32_t services_qkey = 0x80010000;

inline constexpr std::size_t management_bytes = 256;

// The attribute of the datagram.
enum class Kind : std::uint16_t {
    request = 0x10,           // REQ
    receipt = 0x11,           // MRA: the answer takes a while
    rejection = 0x12,         // REJ
    reply = 0x13,             // REP
    ready = 0x14,             // RTU
    disconnect = 0x15,        // DREQ
    disconnected = 0x16,      // DREP
    datagram_request = 0x17,  // SIDR_REQ: which queue pair takes datagrams for a service
    datagram_reply = 0x18,    // SIDR_REP
};

// Why a request is rejected (IBA 1, table 112), as far as this end says it.
enum class Reason : std::uint16_t {
    no_resources = 3,
    timeout = 4,
    invalid_connection = 6,
    invalid_service = 8,
    stale = 10,
    consumer = 28,
};

// Which message a receipt or a rejection answers.
enum class Answered : std::uint8_t { request = 0, reply = 1, other = 2 };

enum class DatagramStatus : std::uint8_t {
    valid = 0,
    unsupported_service = 1,
    rejected = 2,
    no_queue_pair = 3,
};

struct Message {
    Kind kind = Kind::request;
    std::uint64_t transaction = 0;
    std::uint32_t local_id = 0;
    std::uint32_t remote_id = 0;
    std::uint64_t service = 0;

    // The queue pair of who sends, in a disconnect that of who receives, and how it is to be used.
    std::uint64_t adapter_guid = 0;
    std::uint32_t qpn = 0;
    std::uint32_t qkey = 0;
    std::uint32_t psn = 0;  // with which the receiver of the message shall begin to send
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t flow_control = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;
    std::uint8_t srq = 0;
    std::uint16_t pkey = 0xffff;
    std::uint8_t path_mtu = 0;
    std::uint8_t transport_service = 0;  // 0: RC
    // Times are codes: 4.096 µs times two to their power.
    std::uint8_t remote_response_timeout = 0;
    std::uint8_t local_response_timeout = 0;
    std::uint8_t retries_max = 0;
    std::uint8_t service_timeout = 0;
    std::uint8_t ack_timeout = 0;

    // The path, as the sender of a request sees it.
    Address local_gid = no_address;
    Address remote_gid = no_address;
    std::uint16_t local_lid = 0xffff;
    std::uint16_t remote_lid = 0xffff;
    std::uint8_t rate = 3;  // 10 Gbit/s, which says nothing here
    std::uint8_t hop_limit = 64;
    std::uint8_t traffic_class = 0;

    Answered answered = Answered::request;
    std::uint16_t reason = 0;
    std::uint8_t status = 0;  // of a datagram_reply

    Bytes private_data;  // decoded: of the whole length that the kind has room for
};

// How many bytes of private data a message of this kind has room for.
std::size_t private_bytes(Kind kind);

// The management datagram. Private data that is too long is cut.
std::array<std::byte, management_bytes> encode(const Message& message);

// None where the bytes are no message of the connection manager that is known here.
std::optional<Message> decode_message(std::span<const std::byte> datagram);

}  // namespace lanewise::verbs::cm
