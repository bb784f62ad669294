// SPDX-License-Identifier: BSD-3-Clause
//
// Drops the second of two copies of a datagram that were sent over both ports, as the Parallel
// Redundancy Protocol does (IEC 62439-3). Copies have the same packet sequence number, which counts
// the datagrams of a queue pair. A number that comes twice on one port is of a sender that has
// begun anew.

#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <utility>

#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/psn.hpp"

namespace lanewise::verbs {

class CopyFilter {
  public:
    static constexpr std::size_t window = 1024;
    static constexpr std::size_t senders_max = 4096;

    // Whether this datagram has come before, on the other port. `source` is the address that the
    // sender has on the path of the queue pair, whichever port it came on.
    bool is_copy(const Address& source, std::uint32_t source_qpn, Psn psn, std::uint8_t port);
    void clear() { senders_.clear(); }

  private:
    struct Sender {
        Psn newest;
        std::bitset<window> seen[2];  // by port; bit i is for the number i before the newest
    };
    std::map<std::pair<Address, std::uint32_t>, Sender> senders_;
};

}  // namespace lanewise::verbs
