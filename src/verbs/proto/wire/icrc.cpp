// SPDX-License-Identifier: BSD-3-Clause
//
// Where the identification of the IPv4 header is unknown, one is supposed; let d be the polynomial
// of the 16 bits in which it is wrong. The ICRC then differs by d · x^(8m + 32), with m bytes
// behind the field. Dividing the difference by that power must therefore leave a polynomial of
// degree below 16; bytes that are not what was sent pass with a probability of one in 65536.

#include "verbs/proto/wire/icrc.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "verbs/proto/wire/bytes.hpp"
#include "verbs/proto/wire/crc32.hpp"
#include "verbs/proto/wire/opcode.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs {
namespace {

constexpr std::size_t udp_bytes = 8;
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t ipv6_bytes = 40;
constexpr std::size_t route_bytes = 8;
constexpr std::size_t behind_id_bytes = 14;  // from the identification to the end of the header

// What stands before the payload, with what may change on the way masked; and a short payload too.
constexpr std::size_t masked_bytes = route_bytes + ipv6_bytes + udp_bytes + bth_bytes;
using Beginning = std::array<std::byte, masked_bytes + headers_bytes_max>;

std::byte *put_ipv4(std::byte *at, const IcrcAddresses& addresses, std::size_t udp_length,
                    std::uint16_t ip_id) {
    at[0] = std::byte{0x45};
    store_network(at + 2, ipv4_bytes + udp_length, 2);
    store_network(at + 4, ip_id);
    store_network(at + 6, 0x4000u, 2);  // do not fragment
    at[9] = std::byte{17};
    std::memcpy(at + 12, addresses.source.data() + 12, 4);
    std::memcpy(at + 16, addresses.destination.data() + 12, 4);
    return at + ipv4_bytes;
}

std::byte *put_ipv6(std::byte *at, const IcrcAddresses& addresses, std::size_t udp_length) {
    at[0] = std::byte{0x6f};
    store_network(at + 4, udp_length, 2);
    at[6] = std::byte{17};
    std::memcpy(at + 8, addresses.source.data(), 16);
    std::memcpy(at + 24, addresses.destination.data(), 16);
    return at + ipv6_bytes;
}

// x^(8n - 32) for every n that a payload can have: with it, the product that comes multiplied by
// x^32 is the state n bytes of zeros later.
const std::array<std::uint32_t, payload_bytes_max + 1>& distances() {
    static const auto table = [] {
        std::array<std::uint32_t, payload_bytes_max + 1> powers{};
        powers[0] = crc32::x_to_the(-32);
        const std::uint32_t one_byte = crc32::x_to_the(8);
        for (std::size_t n = 1; n < powers.size(); ++n) {
            powers[n] = crc32::multiply(powers[n - 1], one_byte);
        }
        return powers;
    }();
    return table;
}

std::uint32_t fed_payload(std::uint32_t state, const CheckedPayload& payload) {
    return crc32::shifted_product(state, distances()[payload.bytes]) ^ payload.state;
}

std::uint32_t icrc(std::span<const std::byte> datagram, const IcrcAddresses& addresses,
                   std::uint16_t ip_id, const CheckedPayload& payload = {}) {
    const std::size_t udp_length = udp_bytes + datagram.size();
    Beginning beginning;
    std::fill_n(beginning.begin(), masked_bytes, std::byte{0xff});
    std::byte *at = beginning.data() + route_bytes;
    at = is_ipv4(addresses.source) ? put_ipv4(at, addresses, udp_length, ip_id)
                                   : put_ipv6(at, addresses, udp_length);
    store_network(at, addresses.source_udp_port);
    store_network(at + 2, roce_udp_port);
    store_network(at + 4, udp_length, 2);
    at += udp_bytes;
    std::memcpy(at, datagram.data(), bth_bytes);
    at[4] = std::byte{0xff};
    at += bth_bytes;

    const auto behind = datagram.subspan(bth_bytes, datagram.size() - bth_bytes - icrc_bytes);
    // What is short is put behind the headers, and all is read at once.
    const std::size_t short_bytes = behind.size() <= headers_bytes_max ? behind.size() : 0;
    const auto near = behind.first(payload.bytes > 0 ? payload.at - bth_bytes : short_bytes);
    at = std::copy(near.begin(), near.end(), at);
    std::uint32_t state = crc32::feed(crc32::initial, {beginning.data(), at});
    if (payload.bytes > 0) state = fed_payload(state, payload);
    return ~crc32::feed(state, behind.subspan(near.size() + payload.bytes));
}

std::uint32_t load_icrc(std::span<const std::byte> datagram) {
    std::uint32_t value = 0;
    std::memcpy(&value, datagram.last(icrc_bytes).data(), icrc_bytes);
    return std::endian::native == std::endian::little ? value : __builtin_bswap32(value);
}

constexpr std::size_t behind_max =
    behind_id_bytes + udp_bytes + payload_bytes_max + headers_bytes_max;

// x^-(8m + 64) for every m that a datagram can have; products come multiplied by x^32.
const std::array<std::uint32_t, behind_max>& divisors() {
    static const auto table = [] {
        std::array<std::uint32_t, behind_max> powers{};
        powers[0] = crc32::x_to_the(-64);
        const std::uint32_t one_byte = crc32::x_to_the(-8);
        for (std::size_t m = 1; m < powers.size(); ++m) {
            powers[m] = crc32::multiply(powers[m - 1], one_byte);
        }
        return powers;
    }();
    return table;
}

// The bits in which an identification is wrong, by which the ICRC differs so much.
std::optional<std::uint16_t> wrong_bits(std::uint32_t difference, std::size_t datagram_bytes) {
    const std::size_t behind = behind_id_bytes + udp_bytes + datagram_bytes - icrc_bytes;
    if (behind >= behind_max) return std::nullopt;
    const std::uint32_t bits = crc32::shifted_product(difference, divisors()[behind]);
    if ((bits & 0xffff) != 0) return std::nullopt;
    // The first bit on the wire is the lowest of the first byte.
    return static_cast<std::uint16_t>((bits >> 16 & 0xff) << 8 | bits >> 24);
}

bool is_known(std::uint32_t ip_id) {
    return ip_id <= 0xffff;
}

std::uint16_t supposed_ip_id(const Arrival& from) {
    return static_cast<std::uint16_t>(is_known(from.ip_id) ? from.ip_id : from.likely_ip_id);
}

// What the ICRC is, exclusive or what it should be.
std::uint32_t difference_in(std::span<const std::byte> datagram, const Arrival& from) {
    const IcrcAddresses addresses{from.source, from.destination, from.source_udp_port};
    return icrc(datagram, addresses, supposed_ip_id(from)) ^ load_icrc(datagram);
}

}  // namespace

void seal(std::span<std::byte> datagram, const IcrcAddresses& addresses, std::uint16_t ip_id,
          const CheckedPayload& payload) {
    std::uint32_t value = icrc(datagram, addresses, ip_id, payload);
    value = std::endian::native == std::endian::little ? value : __builtin_bswap32(value);
    std::memcpy(datagram.last(icrc_bytes).data(), &value, icrc_bytes);
}

bool intact(std::span<const std::byte> datagram, const Arrival& from) {
    if (datagram.size() < bth_bytes + icrc_bytes) {
        return false;
    }
    const std::uint32_t difference = difference_in(datagram, from);
    if (difference == 0) {
        return true;
    }
    return is_ipv4(from.source) && !is_known(from.ip_id) &&
           wrong_bits(difference, datagram.size()).has_value();
}

std::uint16_t likely_ip_id(std::span<const std::byte> datagram, const Arrival& from) {
    const std::uint16_t supposed = supposed_ip_id(from);
    if (datagram.size() < bth_bytes + icrc_bytes) {
        return supposed;
    }
    const auto wrong = wrong_bits(difference_in(datagram, from), datagram.size());
    return supposed ^ wrong.value_or(0);
}

}  // namespace lanewise::verbs
