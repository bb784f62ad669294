// SPDX-License-Identifier: BSD-3-Clause
//
// Packets that came before their turn, because one before them was lost or overtaken: copies, kept
// until the missing one is here. What they may take is bounded, and they take nothing while nothing
// is missing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

class EarlyPackets {
  public:
    struct Early {
        Packet packet;  // its payload lies in `bytes`
        std::vector<std::byte> bytes;
    };

    // Keeps a copy, unless it has one or has no room left in `bytes_max`.
    void keep(const Packet& packet, std::uint32_t bytes_max);
    // Gives the packet with this number away, where it is here.
    std::optional<Early> take(Psn psn);
    void clear();

    bool empty() const { return packets_.empty(); }
    std::size_t size() const { return packets_.size(); }

  private:
    std::vector<Early> packets_;
    std::uint32_t weight_ = 0;
};

}  // namespace lanewise::verbs
