// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/message/datagram.hpp"

#include <algorithm>

#include "verbs/proto/wire/batch.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::cm {

Bytes datagram_of(const Message& message, const Endpoints& ends, std::uint32_t psn) {
    Packet packet;
    packet.base.opcode = opcode_of(Transport::ud, PacketKind::send, Part::only, Extra::nothing);
    packet.row = opcode_row(packet.base.opcode);
    packet.transport = Transport::ud;
    packet.base.destination_qpn = services_qpn;
    packet.base.psn = Psn(psn);
    packet.datagram = {services_qkey, services_qpn};

    Bytes made(datagram_bytes(packet.row, management_bytes));
    Batch batch(made);
    batch.begin();
    batch.wrote(encode_headers(packet, batch.room()));
    const auto payload = encode(message);
    std::copy(payload.begin(), payload.end(), batch.room().begin());
    batch.wrote(payload.size());
    batch.finish({ends.source, ends.destination, roce_udp_port}, 0);
    return made;
}

std::optional<Message> message_of(std::span<const std::byte> datagram, const Arrival& from) {
    const Decoded decoded = decode(datagram);
    if (!decoded.packet) return std::nullopt;
    const Packet& packet = *decoded.packet;
    const bool is_datagram = packet.transport == Transport::ud &&
                             packet.row.kind == PacketKind::send && !packet.row.has_immediate();
    const bool is_for_services = packet.base.destination_qpn == services_qpn &&
                                 packet.datagram.source_qpn == services_qpn &&
                                 packet.datagram.qkey == services_qkey;
    if (!is_datagram || !is_for_services || !intact(datagram, from)) return std::nullopt;
    return decode_message(packet.payload);
}

}  // namespace lanewise::verbs::cm
