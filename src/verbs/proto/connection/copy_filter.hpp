// SPDX-License-Identifier: BSD-3-Clause
//
// Drops the second of two copies of a datagram that were sent over both ports, as the Parallel
// Redundancy Protocol does (IEC 62439-3). Copies have the same packet sequence number, which counts
// the datagrams of a queue pair. A number that comes twice on one port, or far behind one that came
// before it on that port, is of a sender that has begun anew.
//
// One port may lag far behind the other. What comes there and is so far behind that it is not
// remembered any more is taken for a copy, once the other port has been seen to go on.

#pragma once

#include <array>
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
    // What has come on one port.
    struct Track {
        bool is_begun = false;
        bool is_apart = false;  // far behind the other port, perhaps of a sender that begins anew
        Psn newest;
        std::bitset<window> seen;  // bit i is for the number i before the newest
        void begin(Psn psn);
        void advance(Psn psn);
    };
    struct Sender {
        Psn first;  // since it has begun, or was first heard; or some millions of numbers ago
        std::array<Track, 2> tracks;
    };
    static bool has_begun_anew(const Track& here, Psn psn);
    static bool may_have_begun_anew(const Sender& sender, const Track& here, const Track& there,
                                    Psn psn);
    static bool has_come(const Sender& sender, const Track& there, Psn psn);

    std::map<std::pair<Address, std::uint32_t>, Sender> senders_;
};

}  // namespace lanewise::verbs
