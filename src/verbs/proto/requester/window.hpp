// SPDX-License-Identifier: BSD-3-Clause
//
// The congestion window: how many bytes a requester sends ahead of acknowledgements. It is as large
// as the device allows until something is lost; then it halves, once for everything in flight, and
// grows by about one packet for each window that is acknowledged, as TCP does (RFC 5681).

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

class Window {
  public:
    void open(std::uint32_t bytes) { bytes_ = bytes_max_ = bytes; }

    // How many packets with such a payload.
    std::uint32_t packets(std::size_t payload_bytes) const {
        return std::max(bytes_ / socket_buffer_bytes(payload_bytes), fewest);
    }
    std::uint32_t packets_max(std::size_t payload_bytes) const {
        return std::max(bytes_max_ / socket_buffer_bytes(payload_bytes), fewest);
    }

    void on_progress(std::uint32_t packets, std::uint32_t mtu) {
        if (bytes_ < bytes_max_) {
            const std::uint64_t more = std::uint64_t{packets} * mtu * mtu / bytes_;
            bytes_ = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(bytes_ + std::max<std::uint64_t>(more, 1), bytes_max_));
        }
    }

    // A packet was lost; `highest` is one past the last that was ever sent.
    void on_loss(Psn unacknowledged, Psn highest, std::uint32_t mtu) {
        if (shrunk_ && before(unacknowledged, shrunk_at_)) {
            return;
        }
        shrunk_ = true;
        shrunk_at_ = highest;
        bytes_ = std::max(bytes_ / 2, std::min(bytes_max_, fewest * mtu));
    }

  private:
    static constexpr std::uint32_t fewest = 4;

    std::uint32_t bytes_ = 0;
    std::uint32_t bytes_max_ = 0;
    bool shrunk_ = false;
    Psn shrunk_at_;  // packets in flight then belong to that loss
};

}  // namespace lanewise::verbs
