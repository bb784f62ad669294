// SPDX-License-Identifier: BSD-3-Clause
//
// See packet.hpp.  Offsets are those of RFC 791 (IPv4), RFC 8200 (IPv6) and RFC 9293 (TCP).

#include "testbed/packet.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "base/fnv.hpp"

namespace lanewise::testbed {
namespace {

constexpr std::size_t vnet_bytes = sizeof(VirtioHeader);
constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t ipv6_bytes = 40;
constexpr std::uint8_t fin = 0x01;
constexpr std::uint8_t push = 0x08;
constexpr std::uint8_t window_reduced = 0x80;

struct Headers {
    std::size_t ip = 0;        /* offset of the IP header, 0 where there is none */
    std::size_t transport = 0; /* offset of the TCP or UDP header, 0 where there is none */
    std::size_t payload = 0;   /* offset of what TCP carries, 0 where it is not TCP */
    std::uint8_t protocol = 0;
    bool six = false;
};

std::uint8_t octet(PacketView bytes, std::size_t at) {
    return std::to_integer<std::uint8_t>(bytes[at]);
}

std::uint16_t word(PacketView bytes, std::size_t at) {
    return static_cast<std::uint16_t>(octet(bytes, at) << 8 | octet(bytes, at + 1));
}

std::uint32_t double_word(PacketView bytes, std::size_t at) {
    return std::uint32_t{word(bytes, at)} << 16 | word(bytes, at + 2);
}

void put_word(Packet& bytes, std::size_t at, std::uint32_t value) {
    bytes[at] = static_cast<std::byte>(value >> 8 & 0xff);
    bytes[at + 1] = static_cast<std::byte>(value & 0xff);
}

VirtioHeader vnet_of(PacketView packet) {
    VirtioHeader header;
    std::memcpy(&header, packet.data(), sizeof header);
    return header;
}

Headers headers_of(PacketView packet, Layer layer) {
    Headers found;
    std::size_t at = vnet_bytes;
    if (layer == Layer::ethernet) {
        if (packet.size() < at + ethernet_bytes) return found;
        const auto type = word(packet, at + 12);
        if (type != 0x0800 && type != 0x86dd) return found;
        at += ethernet_bytes;
    }
    if (packet.size() < at + 20) return found;
    const auto version = octet(packet, at) >> 4;
    found.six = version == 6;
    if ((version != 4 && !found.six) || (found.six && packet.size() < at + ipv6_bytes)) return {};
    found.ip = at;
    found.protocol = octet(packet, at + (found.six ? 6 : 9));
    const bool fragment = !found.six && (word(packet, at + 6) & 0x3fff) != 0;
    const auto header_bytes = found.six ? ipv6_bytes : std::size_t{octet(packet, at) & 0x0fU} * 4;
    const bool ports = found.protocol == IPPROTO_TCP || found.protocol == IPPROTO_UDP;
    if (fragment || !ports || packet.size() < at + header_bytes + 8) return found;
    found.transport = at + header_bytes;
    if (found.protocol != IPPROTO_TCP || packet.size() < found.transport + 20) return found;
    const auto payload =
        found.transport + std::size_t{octet(packet, found.transport + 12)} / 16 * 4;
    if (payload <= packet.size()) found.payload = payload;
    return found;
}

/* FNV-1a spreads the few bits in which flows differ. */
std::uint64_t hash(std::uint64_t so_far, PacketView bytes) {
    for (const auto byte : bytes) so_far = fnv1a(so_far, std::to_integer<std::uint64_t>(byte));
    return so_far;
}

std::uint64_t flow_of(PacketView packet, const Headers& headers) {
    if (headers.ip == 0) return 0;
    std::uint64_t flow = hash(
        fnv1a_basis, packet.subspan(headers.ip + (headers.six ? 8 : 12), headers.six ? 32 : 8));
    flow = hash(flow, packet.subspan(headers.ip + (headers.six ? 6 : 9), 1));
    if (headers.transport != 0) flow = hash(flow, packet.subspan(headers.transport, 4));
    return flow;
}

bool is_gso_packet(const VirtioHeader& vnet, const Headers& headers) {
    const auto kind = vnet.kind & ~kind_congestion;
    const bool tcp = kind == kind_tcp4 || kind == kind_tcp6;
    return tcp && vnet.segment_bytes > 0 && headers.payload != 0;
}

std::uint16_t folded(std::uint64_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(sum);
}

std::uint64_t sum_words(PacketView bytes) {
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += word(bytes, at);
    return sum;
}

/* Writes lengths and checksums anew.  The TCP checksum is left to whoever needs it: its field
   holds the sum over the pseudo-header, as partial checksums have it. */
void repair(Packet& piece, const Headers& headers, std::uint32_t first) {
    const auto after_ip = piece.size() - headers.transport;
    std::uint64_t pseudo = after_ip + IPPROTO_TCP;
    if (headers.six) {
        put_word(piece, headers.ip + 4, static_cast<std::uint32_t>(after_ip));
        pseudo += sum_words(PacketView(piece).subspan(headers.ip + 8, 32));
    } else {
        const auto ip_bytes = headers.transport - headers.ip;
        put_word(piece, headers.ip + 2, static_cast<std::uint32_t>(piece.size() - headers.ip));
        put_word(piece, headers.ip + 4, word(piece, headers.ip + 4) + first);
        put_word(piece, headers.ip + 10, 0);
        const auto sum = folded(sum_words(PacketView(piece).subspan(headers.ip, ip_bytes)));
        put_word(piece, headers.ip + 10, static_cast<std::uint32_t>(~sum) & 0xffff);
        pseudo += sum_words(PacketView(piece).subspan(headers.ip + 12, 8));
    }
    put_word(piece, headers.transport + 16, folded(pseudo));
}

}  // namespace

PacketShape shape_of(PacketView packet, Layer layer) {
    PacketShape shape;
    if (packet.size() < vnet_bytes) return shape;
    const auto headers = headers_of(packet, layer);
    shape.wire_bytes = shape.segment_bytes = packet.size() - vnet_bytes;
    shape.flow = flow_of(packet, headers);
    const auto vnet = vnet_of(packet);
    if (!is_gso_packet(vnet, headers)) return shape;
    const auto payload = packet.size() - headers.payload;
    const auto segments =
        std::max<std::size_t>((payload + vnet.segment_bytes - 1) / vnet.segment_bytes, 1);
    const auto header_bytes = headers.payload - vnet_bytes;
    shape.segments = static_cast<std::uint32_t>(segments);
    shape.wire_bytes += (segments - 1) * header_bytes;
    shape.segment_bytes = header_bytes + std::min<std::size_t>(payload, vnet.segment_bytes);
    return shape;
}

bool mark(Packet& packet, Layer layer) {
    constexpr std::byte congestion{3};
    const auto headers = headers_of(packet, layer);
    if (headers.ip == 0) return false;
    const int shift = headers.six ? 4 : 0; /* the class stands across two bytes there */
    auto& byte = packet[headers.ip + 1];
    if ((byte & congestion << shift) == std::byte{0}) return false;
    byte |= congestion << shift;
    if (headers.six) return true;
    const auto ip_bytes = std::size_t{octet(packet, headers.ip) & 0x0fU} * 4;
    put_word(packet, headers.ip + 10, 0);
    const auto sum = folded(sum_words(PacketView(packet).subspan(headers.ip, ip_bytes)));
    put_word(packet, headers.ip + 10, static_cast<std::uint32_t>(~sum) & 0xffff);
    return true;
}

Packet cut(PacketView packet, Layer layer, std::uint32_t first, std::uint32_t count) {
    const auto headers = headers_of(packet, layer);
    auto vnet = vnet_of(packet);
    const auto segment_bytes = std::size_t{vnet.segment_bytes};
    const auto payload = packet.subspan(headers.payload);
    const auto begin = std::min(first * segment_bytes, payload.size());
    const auto end = std::min((first + count) * segment_bytes, payload.size());

    const auto head = packet.first(headers.payload);
    const auto body = payload.subspan(begin, end - begin);
    Packet piece(head.begin(), head.end());
    piece.insert(piece.end(), body.begin(), body.end());

    const auto sequence =
        double_word(piece, headers.transport + 4) + static_cast<std::uint32_t>(begin);
    put_word(piece, headers.transport + 4, sequence >> 16);
    put_word(piece, headers.transport + 6, sequence & 0xffff);
    auto& flags = piece[headers.transport + 13];
    if (end < payload.size()) flags &= ~std::byte{fin | push};
    if (begin > 0) flags &= ~std::byte{window_reduced};
    repair(piece, headers, first);

    vnet.flags = checksum_needed;
    vnet.checksum_start = static_cast<std::uint16_t>(headers.transport - vnet_bytes);
    vnet.checksum_offset = 16;
    vnet.header_bytes = static_cast<std::uint16_t>(headers.payload - vnet_bytes);
    if (body.size() <= segment_bytes) {
        vnet.kind = kind_none;
        vnet.segment_bytes = 0;
    }
    std::memcpy(piece.data(), &vnet, sizeof vnet);
    return piece;
}

}  // namespace lanewise::testbed
