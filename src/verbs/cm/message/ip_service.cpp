// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/message/ip_service.hpp"

#include <algorithm>

#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs::cm {
namespace {

constexpr std::byte ip_header_version{0};
constexpr std::size_t source_at = 4;
constexpr std::size_t destination_at = 20;

// An IPv4 address stands in the last 4 of the 16 bytes, behind zeros.
void write_ip(Bytes& into, std::size_t at, const Address& address) {
    const std::size_t zeros = is_ipv4(address) ? 12 : 0;
    for (std::size_t i = zeros; i < address.size(); ++i) into[at + i] = std::byte{address[i]};
}

Address read_ip(std::span<const std::byte> from, std::size_t at, bool ipv4) {
    Address address{};
    for (std::size_t i = ipv4 ? 12 : 0; i < address.size(); ++i) {
        address[i] = std::to_integer<std::uint8_t>(from[at + i]);
    }
    if (ipv4) address[10] = address[11] = 0xff;
    return address;
}

}  // namespace

Bytes with_ip_header(const IpHeader& header, std::span<const std::byte> private_data) {
    Bytes made(ip_header_bytes + private_data.size());
    made[0] = ip_header_version;
    made[1] = is_ipv4(header.source) ? std::byte{0x40} : std::byte{0x60};
    store_network(made.data() + 2, header.source_port);
    write_ip(made, source_at, header.source);
    write_ip(made, destination_at, header.destination);
    std::copy(private_data.begin(), private_data.end(),
              made.begin() + static_cast<std::ptrdiff_t>(ip_header_bytes));
    return made;
}

std::optional<IpHeader> ip_header_of(std::span<const std::byte> private_data) {
    if (private_data.size() < ip_header_bytes || private_data[0] != ip_header_version) {
        return std::nullopt;
    }
    const unsigned version = std::to_integer<unsigned>(private_data[1]) >> 4;
    if (version != 4 && version != 6) return std::nullopt;
    return IpHeader{read_ip(private_data, source_at, version == 4),
                    read_ip(private_data, destination_at, version == 4),
                    load_network<std::uint16_t>(private_data.data() + 2)};
}

}  // namespace lanewise::verbs::cm
