// SPDX-License-Identifier: BSD-3-Clause
//
// Which packets of reliable connections have arrived, so that a fault does not count a copy of one:
// how often a peer sends a packet again depends on time, and a script is to decide by what the
// program does alone. A packet that a fault has lost has not arrived; its copies count.

#pragma once

#include <bitset>
#include <compare>
#include <cstdint>
#include <map>

#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs::faults {

// Requests and responses to one queue pair, whose numbers are unrelated.
struct Stream {
    std::uint32_t destination_qpn = 0;
    bool responses = false;
    auto operator<=>(const Stream&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
};

class Arrived {
  public:
    // A number that lies further behind the newest one belongs to a new connection.
    static constexpr std::uint32_t window = 1U << 16;

    bool has(Stream stream, Psn psn) const;
    void add(Stream stream, Psn psn);
    // The queue pair begins anew, or is no more.
    void forget(std::uint32_t destination_qpn);

  private:
    struct Numbers {
        Psn newest;
        std::bitset<window> at;  // by number modulo the window
    };
    std::map<Stream, Numbers> streams_;
};

}  // namespace lanewise::verbs::faults
