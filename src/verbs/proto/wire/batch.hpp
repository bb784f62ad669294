// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams being written, one behind the other, for one sendmsg(2). Headers, padding and ICRC go
// into a buffer. Payloads are copied there as well; or, where the border can send from many places
// at once, they stay in the program's memory and the batch refers to them.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

// Runs of bytes that together are a batch. Those in the program's memory are good until the next
// call of the engine.
using Pieces = std::vector<std::span<const std::byte>>;

class Batch {
  public:
    // Without `pieces` everything is copied.
    Batch(std::span<std::byte> buffer, Pieces *pieces) : buffer_(buffer), pieces_(pieces) {}

    std::size_t capacity_bytes() const { return buffer_.size(); }

    // A datagram: begin(), what it holds in order, and finish() with its ICRC, which returns its
    // bytes; or drop().
    void begin();
    std::span<std::byte> room() const { return buffer_.subspan(used_); }
    void wrote(std::size_t bytes) { used_ += bytes; }
    void pad(std::size_t bytes);
    // Whether a payload in `runs` runs may stay where it is, and worth it.
    bool refers(std::size_t payload_bytes, std::size_t runs) const;
    void refer(std::span<const std::byte> run);
    std::size_t finish(const IcrcAddresses& addresses, std::uint16_t ip_id);
    void drop() { used_ = begun_at_; }

  private:
    static constexpr std::size_t runs_max = 4;

    void close_part();

    std::span<std::byte> buffer_;
    Pieces *pieces_;
    std::size_t used_ = 0;
    std::size_t begun_at_ = 0;  // the datagram
    std::size_t part_at_ = 0;   // what was written since the last run that is referred to
    std::array<std::span<const std::byte>, runs_max + 2> parts_;
    std::size_t part_count_ = 0;
};

}  // namespace lanewise::verbs
