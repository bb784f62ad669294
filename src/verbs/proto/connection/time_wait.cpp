// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/time_wait.hpp"

#include <algorithm>
#include <utility>

#include "verbs/proto/connection/device_context.hpp"

namespace lanewise::verbs {

void TimeWait::add(LastAcknowledgement one, Nanoseconds now) {
    std::erase_if(waiting_, [&](const auto& other) { return other.second.until <= now; });
    waiting_.insert_or_assign(one.qpn, std::move(one));
}

const LastAcknowledgement::Answer *TimeWait::answer_to(const Packet& packet, const Arrival& from,
                                                       Nanoseconds now) const {
    const auto found = waiting_.find(packet.base.destination_qpn);
    if (found == waiting_.end()) return nullptr;
    const LastAcknowledgement& last = found->second;
    const PacketKind kind = packet.row.kind;
    const std::int32_t ahead = distance(last.expected, packet.base.psn);
    const bool is_repeated = (kind == PacketKind::send || kind == PacketKind::write) && ahead < 0 &&
                             ahead > -window_packets_max;
    if (last.until <= now || packet.transport != last.transport || !is_repeated ||
        !packet.base.ack_request) {
        return nullptr;
    }
    const auto way = std::ranges::find_if(last.answers, [&](const auto& one) {
        return from.port == one.to.port && from.source == one.to.destination &&
               from.destination == one.to.source;
    });
    return way == last.answers.end() ? nullptr : &*way;
}

Nanoseconds TimeWait::ends_at() const {
    Nanoseconds last = 0;
    for (const auto& [qpn, one] : waiting_) last = std::max(last, one.until);
    return last;
}

}  // namespace lanewise::verbs
