// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/responder/reassembly.hpp"

#include <algorithm>
#include <utility>

#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs {

void ReassemblyBuffer::insert(const Packet& packet, std::uint32_t bytes_max) {
    const std::uint32_t bytes = socket_buffer_bytes(packet.payload.size());
    const bool known = std::any_of(packets_.begin(), packets_.end(), [&](const Buffered& one) {
        return one.packet.base.psn == packet.base.psn;
    });
    if (known || bytes_ + bytes > bytes_max) {
        return;
    }
    Buffered one{packet, {packet.payload.begin(), packet.payload.end()}};
    one.packet.payload = one.bytes;
    packets_.push_back(std::move(one));
    bytes_ += bytes;
}

std::optional<ReassemblyBuffer::Buffered> ReassemblyBuffer::take(Psn psn) {
    const auto found = std::find_if(packets_.begin(), packets_.end(), [&](const Buffered& one) {
        return one.packet.base.psn == psn;
    });
    if (found == packets_.end()) {
        return std::nullopt;
    }
    Buffered taken = std::move(*found);
    packets_.erase(found);
    bytes_ -= socket_buffer_bytes(taken.bytes.size());
    return taken;
}

void ReassemblyBuffer::clear() {
    packets_ = {};
    bytes_ = 0;
}

}  // namespace lanewise::verbs
