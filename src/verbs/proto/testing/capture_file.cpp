// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/capture_file.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "verbs/proto/wire/bytes.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr std::uint32_t magic = 0xa1b2c3d4;  // times are in microseconds
constexpr std::uint32_t ethernet = 1;
constexpr std::size_t file_header_bytes = 24;
constexpr std::size_t record_header_bytes = 16;
constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t udp_bytes = 8;

using Bytes = std::span<const std::byte>;

// Numbers of the file are in the order of the machine that wrote it, a little-endian one.
std::uint32_t number_at(Bytes bytes, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

Address ipv4_at(const std::byte *at) {
    Address address{};
    address[10] = address[11] = 0xff;
    std::memcpy(address.data() + 12, at, 4);
    return address;
}

Heard heard(Bytes frame, Nanoseconds at) {
    const std::byte *ip = frame.data() + ethernet_bytes;
    const std::byte *udp = ip + ipv4_bytes;
    Heard made;
    made.at = at;
    made.from.ip_id = load_network<std::uint16_t>(ip + 4);
    made.from.source = ipv4_at(ip + 12);
    made.from.destination = ipv4_at(ip + 16);
    made.from.source_udp_port = load_network<std::uint16_t>(udp);
    // Short frames are padded, so the length of UDP counts.
    const std::size_t bytes = load_network<std::uint16_t>(udp + 4);
    const Bytes rest = frame.subspan(ethernet_bytes + ipv4_bytes + udp_bytes);
    const Bytes datagram = rest.first(std::min(rest.size(), bytes - udp_bytes));
    made.datagram.assign(datagram.begin(), datagram.end());
    return made;
}

}  // namespace

std::vector<Heard> read_capture(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> read{std::istreambuf_iterator<char>(file), {}};
    const Bytes all = std::as_bytes(std::span(read));
    std::vector<Heard> found;
    if (all.size() < file_header_bytes || number_at(all, 0) != magic ||
        number_at(all, 20) != ethernet) {
        return found;
    }
    std::size_t at = file_header_bytes;
    while (at + record_header_bytes <= all.size()) {
        const Nanoseconds time = Nanoseconds{number_at(all, at)} * 1'000'000'000 +
                                 Nanoseconds{number_at(all, at + 4)} * 1'000;
        const std::size_t bytes = number_at(all, at + 8);
        at += record_header_bytes;
        if (bytes < ethernet_bytes + ipv4_bytes + udp_bytes || at + bytes > all.size()) {
            return {};
        }
        found.push_back(heard(all.subspan(at, bytes), time));
        at += bytes;
    }
    return found;
}

}  // namespace lanewise::verbs::testing
