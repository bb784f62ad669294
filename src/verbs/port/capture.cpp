// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port/capture.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::port {
namespace {

constexpr std::uint32_t snapshot_bytes = 65535;
constexpr std::uint32_t raw_ip = 101;
constexpr std::size_t ipv4_bytes = 20;
constexpr std::size_t udp_bytes = 8;
constexpr std::uint8_t udp = 17;

// Bytes in the order of networks, one after the other.
class Writer {
  public:
    void put(std::uint64_t value, int bytes) {
        for (int at = bytes - 1; at >= 0; --at) {
            bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * at)));
        }
    }
    void put(std::span<const std::uint8_t> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }
    std::vector<std::uint8_t>& bytes() { return bytes_; }

  private:
    std::vector<std::uint8_t> bytes_;
};

// The sum of a header whose own field for it is zero (RFC 1071).
std::uint16_t checksum(std::span<const std::uint8_t> header) {
    std::uint32_t sum = 0;
    for (std::size_t at = 0; at + 1 < header.size(); at += 2) {
        sum += static_cast<std::uint32_t>(header[at] << 8 | header[at + 1]);
    }
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

void put_ipv4(Writer& into, const Captured& one, std::size_t payload_bytes) {
    into.put(0x4500U | one.traffic_class, 2);
    into.put(ipv4_bytes + payload_bytes, 2);
    into.put(one.ip_id, 2);
    into.put(0x4000, 2);
    into.put(one.hop_limit, 1);
    into.put(udp, 1);
    into.put(0, 2);
    into.put(std::span(one.source).subspan(12));
    into.put(std::span(one.destination).subspan(12));
    const std::uint16_t sum = checksum(into.bytes());
    into.bytes()[10] = static_cast<std::uint8_t>(sum >> 8);
    into.bytes()[11] = static_cast<std::uint8_t>(sum);
}

void put_ipv6(Writer& into, const Captured& one, std::size_t payload_bytes) {
    into.put(0x60000000U | static_cast<std::uint32_t>(one.traffic_class) << 20, 4);
    into.put(payload_bytes, 2);
    into.put(udp, 1);
    into.put(one.hop_limit, 1);
    into.put(one.source);
    into.put(one.destination);
}

template <typename Value>
void write(std::FILE *file, const Value& value) {
    std::fwrite(&value, sizeof value, 1, file);
}

}  // namespace

Result<Capture> Capture::open(const std::string& path) {
    std::string name = path;
    if (const std::size_t at = name.find("%p"); at != std::string::npos) {
        name.replace(at, 2, std::to_string(getpid()));
    }
    std::FILE *file = std::fopen(name.c_str(), "wbe");
    if (!file) {
        return Failure{LW_ERR_IO, fmt::format("cannot write {}: {}; name another file with --pcap",
                                              name, std::strerror(errno))};
    }
    struct {
        std::uint32_t magic = 0xa1b2c3d4;
        std::uint16_t major = 2;
        std::uint16_t minor = 4;
        std::uint32_t zone = 0;
        std::uint32_t accuracy = 0;
        std::uint32_t longest = snapshot_bytes;
        std::uint32_t link = raw_ip;
    } const header;
    write(file, header);
    return Capture(std::move(name), file);
}

Outcome Capture::flush() {
    if (std::fflush(file_.get()) == 0 && !std::ferror(file_.get())) return Done{};
    return Failure{LW_ERR_IO, fmt::format("{} took no more packets: {}; the capture ends here",
                                          path_, std::strerror(errno))};
}

void Capture::add(const Captured& one, std::chrono::system_clock::time_point at) {
    Writer headers;
    const std::size_t payload_bytes = udp_bytes + one.packet.size();
    if (is_ipv4(one.source)) {
        put_ipv4(headers, one, payload_bytes);
    } else {
        put_ipv6(headers, one, payload_bytes);
    }
    headers.put(one.source_port, 2);
    headers.put(roce_udp_port, 2);
    headers.put(payload_bytes, 2);
    headers.put(0, 2);
    const auto since = at.time_since_epoch() / std::chrono::microseconds(1);
    const auto bytes = static_cast<std::uint32_t>(headers.bytes().size() + one.packet.size());
    const std::array<std::uint32_t, 4> record{static_cast<std::uint32_t>(since / 1'000'000),
                                              static_cast<std::uint32_t>(since % 1'000'000), bytes,
                                              bytes};
    write(file_.get(), record);
    std::fwrite(headers.bytes().data(), 1, headers.bytes().size(), file_.get());
    std::fwrite(one.packet.data(), 1, one.packet.size(), file_.get());
}

}  // namespace lanewise::verbs::port
