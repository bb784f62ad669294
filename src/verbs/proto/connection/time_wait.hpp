// SPDX-License-Identifier: BSD-3-Clause
//
// The last acknowledgements of reliable connections that the program has destroyed or put in error.
// If one is lost, the peer repeats a request that was executed, and would fail although all of its
// work was done. So it is sent again on demand for a while, as TCP does in its state TIME-WAIT
// (RFC 9293, 3.3.2).

#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/packet.hpp"
#include "verbs/proto/wire/psn.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs {

struct LastAcknowledgement {
    // What is sent to the peer on a path.
    struct Answer {
        AddressVector to;
        std::vector<std::byte> datagram;  // with room for the ICRC
    };
    std::uint32_t qpn = 0;
    Transport transport = Transport::rc;
    Psn expected;                 // the first request that was not executed
    std::vector<Answer> answers;  // on the primary path, and on one that the peer may move to
    Nanoseconds until = 0;
};

class TimeWait {
  public:
    void add(LastAcknowledgement one, Nanoseconds now);
    // There is a queue pair of this number again, or it is used for another connection.
    void forget(std::uint32_t qpn) { waiting_.erase(qpn); }
    // The answer to a request that is repeated and asks for one; null to anything else.
    const LastAcknowledgement::Answer *answer_to(const Packet& packet, const Arrival& from,
                                                 Nanoseconds now) const;
    // When the last of them ends; 0 if there is none.
    Nanoseconds ends_at() const;

  private:
    std::unordered_map<std::uint32_t, LastAcknowledgement> waiting_;
};

}  // namespace lanewise::verbs
