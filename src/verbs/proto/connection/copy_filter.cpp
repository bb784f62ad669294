// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/copy_filter.hpp"

#include <cstdlib>

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

// On one port numbers go back only then. They may go far ahead: where it was out for a while.
bool CopyFilter::has_begun_anew(const Track& here, Psn psn) {
    if (!here.is_begun) return false;
    const std::int32_t ahead = distance(here.newest, psn);
    if (ahead > 0) return false;
    return ahead <= -far || here.seen.test(static_cast<std::size_t>(-ahead));
}

// A port that brings what is far behind the other one lags, or the sender has begun anew. The other
// port shows which it is: it goes on, or goes back as well.
bool CopyFilter::may_have_begun_anew(const Sender& sender, const Track& here, const Track& there,
                                     Psn psn) {
    if (!there.is_begun || distance(there.newest, psn) > -far) return false;
    return here.is_begun ? distance(here.newest, psn) >= far : distance(sender.first, psn) < 0;
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
    Sender& sender = senders_.try_emplace({source, source_qpn}, Sender{psn, {}}).first->second;
    Track& here = sender.tracks[port % 2];
    Track& there = sender.tracks[1 - port % 2];
    const bool goes_on = here.is_begun && std::abs(distance(here.newest, psn)) < far;
    if (has_begun_anew(here, psn)) {
        const bool knows_it = there.is_apart && std::abs(distance(there.newest, psn)) < far;
        here = {};
        if (!knows_it) there = {};
        there.is_apart = false;
        sender.first = knows_it && distance(there.newest, psn) > 0 ? there.newest : psn;
    } else if (goes_on) {
        there.is_apart = false;
    } else if (may_have_begun_anew(sender, here, there, psn)) {
        here.is_apart = true;
    }
    here.advance(psn);
    if (distance(sender.first, here.newest) > remembered_max) {
        sender.first = here.newest - remembered_max;
    }
    return !here.is_apart && has_come(sender, there, psn);
}

}  // namespace lanewise::verbs
