// SPDX-License-Identifier: BSD-3-Clause
//
// The congestion window: how many bytes a requester sends ahead of acknowledgements. It is as large
// as the device allows until something is lost; then it halves, once for everything in flight, but
// not below what the path carries without a queue (path_capacity.hpp), or twice that where packets
// are lost one by one: a link that loses packets without being congested then stays as full as it
// was. It grows by about one segment of TCP for each window that is acknowledged, as TCP does (RFC
// 5681).
// TCP's segments fill a link, while a path MTU is a power of two: it may be as little as half of
// what fits, and on average is as much less as growth_percent says. (An MTU of 1500 has room for
// 1448 bytes of TCP, and gives a path MTU of 1024.)
//
// A packet that is late looks lost. If the peer says that all packets that counted as lost arrived
// twice, the window gets back what it lost for them, as TCP does with duplicate selective
// acknowledgements (RFC 3708).

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

class Window {
  public:
    void open(std::uint32_t bytes) {
        *this = {};
        bytes_ = bytes_max_ = bytes;
    }

    // How many packets with such a payload.
    std::uint32_t packets(std::size_t payload_bytes) const {
        return std::max(bytes_ / socket_buffer_bytes(payload_bytes), fewest);
    }
    std::uint32_t packets_max(std::size_t payload_bytes) const {
        return std::max(bytes_max_ / socket_buffer_bytes(payload_bytes), fewest);
    }

    // So many packets were acknowledged, which leaves `unacknowledged` as the oldest that is not.
    void on_progress(Psn unacknowledged, std::uint32_t packets, std::uint32_t mtu) {
        shrunk_ = shrunk_ && before(unacknowledged, shrunk_at_);
        if (bytes_ < bytes_max_) {
            const std::uint64_t more =
                std::uint64_t{packets} * mtu * mtu * growth_percent / 100 / bytes_;
            bytes_ = static_cast<std::uint32_t>(
                std::min<std::uint64_t>(bytes_ + std::max<std::uint64_t>(more, 1), bytes_max_));
        }
    }

    // The oldest packet was lost; `highest` is one past the last that was ever sent, and the window
    // need not become smaller than `least_bytes`.
    void on_loss(Psn unacknowledged, Psn highest, std::uint32_t mtu, std::uint32_t least_bytes) {
        if (!shrunk_ || !before(unacknowledged, shrunk_at_)) {
            shrink(highest, mtu, least_bytes);
        }
        Cut& cut = cuts_[latest_];
        if (cut.lost_count < cut.lost.size()) {
            cut.lost[cut.lost_count] = unacknowledged;
        }
        ++cut.lost_count;
    }
    // What was sent again was lost as well, or most of what followed a packet.
    void on_loss_of_many(Psn highest, std::uint32_t mtu, std::uint32_t least_bytes) {
        shrink(highest, mtu, least_bytes);
        keep_cuts();
    }
    // A packet that counted as lost arrived twice.
    void on_arrived_twice(Psn psn) {
        for (Cut& cut : cuts_) {
            if (cut.is_for(psn) && ++cut.arrived_count == cut.lost_count) {
                give_back(cut);
            }
        }
    }
    // More has been sent twice than what counted as lost, so what arrives twice tells nothing.
    void keep_cuts() { cuts_ = {}; }

  private:
    static constexpr std::uint32_t fewest = 4;
    static constexpr std::uint32_t growth_percent = 141;

    // What the window lost, and for which packets.
    struct Cut {
        std::uint32_t bytes = 0;
        std::array<Psn, 4> lost;  // if there are more, the window gets nothing back
        std::size_t lost_count = 0;
        std::size_t arrived_count = 0;

        bool is_for(Psn psn) const {
            const std::size_t known = std::min(lost_count, lost.size());
            const auto end = lost.begin() + static_cast<std::ptrdiff_t>(known);
            return std::find(lost.begin(), end, psn) != end;
        }
    };

    void shrink(Psn highest, std::uint32_t mtu, std::uint32_t least_bytes) {
        shrunk_ = true;
        shrunk_at_ = highest;
        const std::uint32_t whole = bytes_;
        bytes_ = std::max(
            {bytes_ / 2, std::min(bytes_, least_bytes), std::min(bytes_max_, fewest * mtu)});
        latest_ = (latest_ + 1) % cuts_.size();
        cuts_[latest_] = {};
        cuts_[latest_].bytes = whole - std::min(whole, bytes_);
    }
    void give_back(Cut& cut) {
        bytes_ = std::min(bytes_ + cut.bytes, bytes_max_);
        shrunk_ = shrunk_ && &cut != &cuts_[latest_];
        cut = {};
    }

    std::uint32_t bytes_ = 0;
    std::uint32_t bytes_max_ = 0;
    bool shrunk_ = false;
    Psn shrunk_at_;  // packets in flight then belong to that loss
    std::array<Cut, 8> cuts_;
    std::size_t latest_ = 0;
};

}  // namespace lanewise::verbs
