// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams being written, one behind the other, for one sendmsg(2). Payloads are copied before
// their checksum is made: the program may write to its memory at any time, and what is sent must
// have the checksum that was computed.

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

class Batch {
  public:
    explicit Batch(std::span<std::byte> buffer) : buffer_(buffer) {}

    std::size_t capacity_bytes() const { return buffer_.size(); }

    // A datagram: begin(), what it holds in order, and finish() with its ICRC, which returns its
    // bytes; or drop().
    void begin() { begun_at_ = used_; }
    std::span<std::byte> room() const { return buffer_.subspan(used_); }
    void wrote(std::size_t bytes) { used_ += bytes; }
    void pad(std::size_t bytes);
    std::size_t finish(const IcrcAddresses& addresses, std::uint16_t ip_id);
    // The same without an ICRC, for which the place stays.
    std::size_t finish();
    void drop() { used_ = begun_at_; }
    // All datagrams so far.
    std::span<const std::byte> written() const { return buffer_.first(used_); }

  private:
    std::span<std::byte> buffer_;
    std::size_t used_ = 0;
    std::size_t begun_at_ = 0;  // the datagram
};

}  // namespace lanewise::verbs
