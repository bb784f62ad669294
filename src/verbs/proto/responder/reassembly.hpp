// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of out-of-order packets, buffered until the missing ones before them arrive. The space is
// bounded, and none is taken while nothing is missing.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

class ReassemblyBuffer {
  public:
    struct Buffered {
        Packet packet;  // its payload lies in `bytes`
        std::vector<std::byte> bytes;
    };

    // Inserts a copy, unless there is one already or no room is left in `bytes_max`.
    void insert(const Packet& packet, std::uint32_t bytes_max);
    // Removes and returns the packet with this number, if it is here.
    std::optional<Buffered> take(Psn psn);
    void clear();

    bool empty() const { return packets_.empty(); }
    std::size_t size() const { return packets_.size(); }

  private:
    std::vector<Buffered> packets_;
    std::uint32_t bytes_ = 0;
};

}  // namespace lanewise::verbs
