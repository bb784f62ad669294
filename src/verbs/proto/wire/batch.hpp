// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams being written, one behind the other, for one sendmsg(2). Their checksums are those of
// the copies: the program may write to its memory at any time, and what is sent must have the
// checksum that was computed. Long payloads are checked while they are copied
// (crc32::feed_copying).

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/icrc.hpp"

namespace lanewise::verbs {

// A run of datagrams for one sendmsg(2) with UDP_SEGMENT: all of them go from and to the same
// address, all but the last are `segment_bytes` long and the last is not longer. The ICRC of the
// i-th holds for an IPv4 identification of i more than that of the first, which is what Linux gives
// to segments where fragments are forbidden.
struct Transmission {
    std::uint8_t port = 1;
    Address source = no_address;
    Address destination = no_address;
    Origin origin;
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::uint32_t flow_label = 0;
    std::size_t bytes = 0;  // all segments, from the start of the buffer
    std::size_t segment_bytes = 0;
    std::size_t segments = 0;
};

// Where datagrams stay in the memory of one host, nothing can damage them.
enum class Check : std::uint8_t { none, icrc };

class Batch {
  public:
    explicit Batch(std::span<std::byte> buffer) : buffer_(buffer) {}

    std::size_t capacity_bytes() const { return buffer_.size(); }

    // A datagram: begin(), what it holds in order, and finish() with its ICRC, which returns its
    // bytes; or drop().
    void begin(Check check = Check::icrc) {
        begun_at_ = used_;
        check_ = check;
        payload_ = {};
    }

    // Where the CRC-32 of so many bytes of payload is made, from 0 on, while they are copied into
    // room(). Null where it is made by finish(), as for few: the states of headers and payload are
    // put together, which takes as long as to read some 200 bytes.
    std::uint32_t *checksum_for(std::size_t payload_bytes) {
        if (check_ == Check::none || payload_bytes < checked_bytes_min) return nullptr;
        payload_ = {.at = used_ - begun_at_, .bytes = payload_bytes};
        return &payload_.state;
    }
    std::span<std::byte> room() const { return buffer_.subspan(used_); }
    void wrote(std::size_t bytes) { used_ += bytes; }
    void pad(std::size_t bytes);
    std::size_t finish(const IcrcAddresses& addresses, std::uint16_t ip_id);
    // The same for one without an ICRC, for which the place stays.
    std::size_t finish();
    void drop() { used_ = begun_at_; }
    // All datagrams so far.
    std::span<const std::byte> written() const { return buffer_.first(used_); }

  private:
    static constexpr std::size_t checked_bytes_min = 512;

    std::span<std::byte> buffer_;
    std::size_t used_ = 0;
    std::size_t begun_at_ = 0;  // the datagram
    Check check_ = Check::icrc;
    CheckedPayload payload_;
};

}  // namespace lanewise::verbs
