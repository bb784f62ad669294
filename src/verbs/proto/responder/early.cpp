// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/responder/early.hpp"

#include <algorithm>
#include <utility>

#include "verbs/proto/requester/window.hpp"

namespace lanewise::verbs {

void EarlyPackets::keep(const Packet& packet, std::uint32_t bytes_max) {
    const std::uint32_t weight = weight_bytes(packet.payload.size());
    const bool known = std::any_of(packets_.begin(), packets_.end(), [&](const Early& early) {
        return early.packet.base.psn == packet.base.psn;
    });
    if (known || weight_ + weight > bytes_max) {
        return;
    }
    Early early{packet, {packet.payload.begin(), packet.payload.end()}};
    early.packet.payload = early.bytes;
    packets_.push_back(std::move(early));
    weight_ += weight;
}

std::optional<EarlyPackets::Early> EarlyPackets::take(Psn psn) {
    const auto found = std::find_if(packets_.begin(), packets_.end(), [&](const Early& early) {
        return early.packet.base.psn == psn;
    });
    if (found == packets_.end()) {
        return std::nullopt;
    }
    Early taken = std::move(*found);
    packets_.erase(found);
    weight_ -= weight_bytes(taken.bytes.size());
    return taken;
}

void EarlyPackets::clear() {
    packets_ = {};
    weight_ = 0;
}

}  // namespace lanewise::verbs
