// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/services.hpp"

#include <fmt/format.h>

#include <cstring>

#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs::port {
namespace {

// The base header, that of datagrams, and the header of management datagrams (IBA 1, 13.4.2).
constexpr std::size_t management_at = 12 + 8;
constexpr std::size_t attribute_at = management_at + 16;
constexpr std::size_t content_at = management_at + 24;
constexpr std::size_t bytes_least = content_at + 16;

// Of these messages, the first asks for a connection, the second for a queue pair that takes
// datagrams, and the third answers the second.
constexpr std::uint16_t request = 0x10;
constexpr std::uint16_t datagram_request = 0x17;
constexpr std::uint16_t datagram_reply = 0x18;

constexpr const char *everywhere = "*";

}  // namespace

std::optional<Addressee> addressee_of(std::span<const std::byte> packet) {
    if (packet.size() < bytes_least) return std::nullopt;
    const auto attribute = load_network<std::uint16_t>(packet.data() + attribute_at);
    const std::byte *content = packet.data() + content_at;
    if (attribute == request || attribute == datagram_request) {
        return Addressee{0, load_network<std::uint64_t>(content + 8)};
    }
    const std::size_t at = attribute == datagram_reply ? 0 : 4;
    return Addressee{load_network<std::uint32_t>(content + at) >> connection_bits, 0};
}

std::string service_name(std::uint64_t service, const Address& address) {
    const std::string where = address == no_address ? everywhere : text(address);
    return fmt::format("lanewise-hca/service/{:x}/{}", service, where);
}

bool is_offered_beside(const std::string& listing, std::uint64_t service, const Address& address) {
    const std::string name = "@" + service_name(service, no_address);
    if (address != no_address) return listing.find(name + "\n") != std::string::npos;
    const std::string begin = name.substr(0, name.size() - std::strlen(everywhere));
    for (std::size_t at = 0; (at = listing.find(begin, at)) != std::string::npos; ++at) {
        if (listing.compare(at, name.size() + 1, name + "\n") != 0) return true;
    }
    return false;
}

}  // namespace lanewise::verbs::port
