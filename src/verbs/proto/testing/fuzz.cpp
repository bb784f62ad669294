// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/fuzz.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "verbs/proto/testing/duel.hpp"
#include "verbs/proto/testing/hostile.hpp"
#include "verbs/proto/wire/icrc.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {
namespace {

// Bits of the headers that decode() does not keep, since nobody uses them.
void clear_reserved(std::vector<std::byte>& bytes, const OpcodeRow& row) {
    bytes[4] &= std::byte{0x40};
    bytes[8] &= std::byte{0x80};
    if ((row.extensions & has_xrceth) != 0) {
        bytes[bth_bytes] = std::byte{0};
    }
    if ((row.extensions & has_deth) != 0) {
        bytes[bth_bytes + 4] = std::byte{0};
    }
    if ((row.extensions & has_reserved) != 0) {
        std::fill_n(bytes.begin() + bth_bytes, extension_bytes(row), std::byte{0});
    }
}

bool lies_inside(std::span<const std::byte> payload, const std::vector<std::byte>& bytes) {
    return payload.data() >= bytes.data() + bth_bytes &&
           payload.data() + payload.size() <= bytes.data() + bytes.size() - icrc_bytes;
}

}  // namespace

std::string fuzz_packet(Input input) {
    // An allocation of its own, so that a sanitizer sees the first byte behind it.
    std::vector<std::byte> bytes(input.size());
    if (!input.empty()) {
        std::memcpy(bytes.data(), input.data(), input.size());
    }
    const auto family = bytes.size() % 2 == 0 ? Family::ipv4 : Family::ipv6;
    const Arrival from{.source_udp_port = 0xc001,
                       .source = address_of(family, 1, 1),
                       .destination = address_of(family, 0, 1)};
    Arrival known = from;
    known.ip_id = 0;
    intact(bytes, from);
    const auto packet = decode(bytes).packet;
    if (!packet) {
        return {};
    }
    if (!lies_inside(packet->payload, bytes)) {
        return "the payload lies outside the datagram";
    }
    std::vector<std::byte> again = bytes;
    clear_reserved(bytes, packet->row);
    const std::size_t headers_bytes = encode_headers(*packet, again);
    if (std::memcmp(again.data(), bytes.data(), headers_bytes) != 0) {
        return "the headers are not written as they were read";
    }
    seal(again, {from.source, from.destination, from.source_udp_port}, 0);
    if (!intact(again, from)) {
        return "a sealed datagram does not pass";
    }
    again.back() ^= std::byte{1};
    return intact(again, known) ? "a datagram with a wrong ICRC passes" : "";
}

std::string fuzz_engine(Input input) {
    Target target;
    target.play(input);
    return target.unharmed() ? "" : "memory outside the region was read or written";
}

std::string fuzz_pair(Input input) {
    return duel(input);
}

}  // namespace lanewise::verbs::testing
