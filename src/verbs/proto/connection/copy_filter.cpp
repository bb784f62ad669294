// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/copy_filter.hpp"

namespace lanewise::verbs {
namespace {

constexpr auto far = static_cast<std::int32_t>(CopyFilter::window);
// Of two numbers, only those that lie less than half of all apart have an order.
constexpr std::int32_t remembered_max = 1 << 22;

}  // namespace

void CopyFilter::Track::begin(Psn psn) {
    is_begun = true;
    newest = psn;
    seen.reset().set(0);
}

void CopyFilter::Track::advance(Psn psn) {
    const std::int32_t ahead = distance(newest, psn);
    if (!is_begun || ahead >= far) {
        begin(psn);
    } else if (ahead > 0) {
        seen <<= static_cast<std::size_t>(ahead);
        newest = psn;
        seen.set(0);
    } else {
        seen.set(static_cast<std::size_t>(-ahead));
    }
}

// A port that has been out for a while goes on where the other one is, and one that has brought
// nothing yet may lag.
bool CopyFilter::has_begun_anew(const Sender& sender, const Track& here, const Track& there,
                                Psn psn) {
    const std::int32_t ahead = here.is_begun ? distance(here.newest, psn) : far;
    if (ahead <= -far) return true;
    if (ahead <= 0) return here.seen.test(static_cast<std::size_t>(-ahead));
    if (ahead < far) return false;
    const std::int32_t beyond = there.is_begun ? distance(there.newest, psn) : far;
    if (beyond > -far) return beyond >= far;
    return here.is_begun || distance(sender.first, psn) <= -far;
}

bool CopyFilter::has_come(const Sender& sender, const Track& there, Psn psn) {
    if (!there.is_begun) return false;
    const std::int32_t behind = distance(psn, there.newest);
    if (behind < 0) return false;
    if (behind < far) return there.seen.test(static_cast<std::size_t>(behind));
    return distance(sender.first, psn) >= 0;
}

bool CopyFilter::is_copy(const Address& source, std::uint32_t source_qpn, Psn psn,
                         std::uint8_t port) {
    // To forget whom it knows only lets copies through that are on their way now.
    if (senders_.size() >= senders_max && !senders_.contains({source, source_qpn})) {
        senders_.clear();
    }
    Sender& sender = senders_[{source, source_qpn}];
    Track& here = sender.tracks[port % 2];
    Track& there = sender.tracks[1 - port % 2];
    if (has_begun_anew(sender, here, there, psn)) {
        sender = {.first = psn, .tracks = {}};
        here.begin(psn);
        return false;
    }
    here.advance(psn);
    if (distance(sender.first, here.newest) > remembered_max) {
        sender.first = here.newest - remembered_max;
    }
    return has_come(sender, there, psn);
}

}  // namespace lanewise::verbs
