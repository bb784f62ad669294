// SPDX-License-Identifier: BSD-3-Clause
//
// Packet: what a line must know of the bytes that a TUN or TAP device gives.
//
// With IFF_VNET_HDR each packet begins with a virtio-net header.  With segmentation offload it may
// be a GSO packet: up to 64 KiB that stand for many TCP segments, to be cut by whoever needs them
// cut (virtio 1.2, section 5.1.6).  A GSO packet crosses the line whole, is charged for all the
// headers that its segments would have had, and is cut only around a segment that is lost or held,
// and where a queue has room for its first segments alone.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::testbed {

using Packet = std::vector<std::byte>;
using PacketView = std::span<const std::byte>;

/* struct virtio_net_hdr of virtio 1.2, section 5.1.6; the kernel's header is not for C++. */
struct VirtioHeader {
    std::uint8_t flags = 0;
    std::uint8_t kind = 0;
    std::uint16_t header_bytes = 0;
    std::uint16_t segment_bytes = 0;
    std::uint16_t checksum_start = 0;
    std::uint16_t checksum_offset = 0;
};
static_assert(sizeof(VirtioHeader) == 10);

constexpr std::uint8_t checksum_needed = 1;
constexpr std::uint8_t kind_none = 0;
constexpr std::uint8_t kind_tcp4 = 1;
constexpr std::uint8_t kind_tcp6 = 4;
constexpr std::uint8_t kind_congestion = 0x80; /* added to the kind */

/* What follows the virtio-net header: a TUN device speaks IP, a TAP device Ethernet. */
enum class Layer { ip, ethernet };

struct PacketShape {
    std::uint32_t segments = 1;
    std::uint64_t wire_bytes = 0;    /* of all segments with their headers */
    std::uint64_t segment_bytes = 0; /* of the longest of them */
    std::uint64_t flow = 0;          /* a hash of addresses, protocol and ports */
};

PacketShape shape_of(PacketView packet, Layer layer);

/* Sets "congestion experienced" in the header of IP (RFC 3168), if the packet says that both ends
   understand it. False if not. */
bool mark(Packet& packet, Layer layer);

/* Returns `count` segments of a GSO packet from `first` on, as a packet of its own. */
Packet cut(PacketView packet, Layer layer, std::uint32_t first, std::uint32_t count);

}  // namespace lanewise::testbed
