// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/capture.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "base/file.hpp"
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
void put_native(std::vector<std::uint8_t>& into, const Value& value) {
    const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof value>>(value);
    into.insert(into.end(), bytes.begin(), bytes.end());
}

bool append(const Descriptor& file, std::span<const std::uint8_t> bytes) {
    return append_whole(file.number(), std::as_bytes(bytes));
}

std::vector<std::uint8_t> header_of_file() {
    struct Header {
        std::uint32_t magic = 0xa1b2c3d4;
        std::uint16_t major = 2;
        std::uint16_t minor = 4;
        std::uint32_t zone = 0;
        std::uint32_t accuracy = 0;
        std::uint32_t longest = snapshot_bytes;
        std::uint32_t link = raw_ip;
    };
    std::vector<std::uint8_t> bytes;
    put_native(bytes, Header{});
    return bytes;
}

Failure cannot_write(const std::string& name, const char *why) {
    return Failure{LW_ERR_IO,
                   fmt::format("cannot write {}: {}; name another file with --pcap", name, why)};
}

// Whether a file is one that may be replaced: a capture, as for `lanewise rdma run`, or empty.
bool is_capture(const Descriptor& file) {
    constexpr std::array<std::uint32_t, 5> beginnings{
        0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1,  // of either byte order, and nanoseconds
        0x0a0d0d0a,                                      // pcapng
    };
    std::uint32_t begins = 0;
    const ssize_t got = pread(file.number(), &begins, sizeof begins, 0);
    if (got != sizeof begins) return got == 0;
    return std::find(beginnings.begin(), beginnings.end(), begins) != beginnings.end();
}

// A process holds the file's lock, shared, while it writes there. Who gets it alone is the first.
Result<Descriptor> begin(const std::string& name) {
    // A pipe that nobody reads would not open, and one that is read slowly would hold up packets.
    // Some file systems lock only what can be read.
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
    Descriptor file(::open(name.c_str(), flags, 0666));
    if (!file && errno == ENXIO) return cannot_write(name, "it is a pipe or a socket");
    if (!file) return cannot_write(name, std::strerror(errno));
    struct stat is {};
    if (fstat(file.number(), &is) != 0) return cannot_write(name, std::strerror(errno));
    if (S_ISFIFO(is.st_mode)) return cannot_write(name, "it is a pipe or a socket");
    if (!S_ISREG(is.st_mode)) {
        append(file, header_of_file());
        return file;
    }
    if (!is_capture(file)) return cannot_write(name, "it is no capture and would be lost");
    // Where files cannot be locked, each process begins the file anew.
    const bool is_shared = flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_shared) {
        const bool is_begun = ftruncate(file.number(), 0) == 0 && append(file, header_of_file());
        if (!is_begun) return cannot_write(name, std::strerror(errno));
    }
    if (flock(file.number(), LOCK_SH) != 0 && is_shared) {
        return cannot_write(name, std::strerror(errno));
    }
    return file;
}

// Whether `file` is what a program finds by `name` today.
bool is_at(const std::string& name, const Descriptor& file) {
    struct stat there {};
    struct stat here {};
    return stat(name.c_str(), &there) == 0 && fstat(file.number(), &here) == 0 &&
           there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

// The files of this process. A device that is opened again goes on with its file.
using Files = std::map<std::string, std::shared_ptr<Descriptor>>;
Files *& files_made() {
    static auto *made = new Files;
    return made;
}
Files& files() {
    return *files_made();
}

Result<std::shared_ptr<Descriptor>> file_at(const std::string& name) {
    static std::mutex lock;
    const std::lock_guard held(lock);
    const auto known = files().find(name);
    if (known != files().end() && is_at(name, *known->second)) return known->second;
    Result<Descriptor> begun = begin(name);
    if (!begun) return begun.failure();
    return files()[name] = std::make_shared<Descriptor>(std::move(*begun));
}

}  // namespace

Result<Capture> Capture::open(const std::string& path) {
    std::string name = path;
    if (const std::size_t at = name.find("%p"); at != std::string::npos) {
        name.replace(at, 2, std::to_string(getpid()));
    }
    Result<std::shared_ptr<Descriptor>> file = file_at(name);
    if (!file) return file.failure();
    return Capture(std::move(name), std::move(*file));
}

// Only closes them: another thread of the parent may have been in the middle of using the rest.
void Capture::close_in_child() {
    for (const auto& [name, file] : files()) close(file->number());
    files_made() = new Files;
}

Outcome Capture::flush() {
    const bool is_written = append(*file_, added_);
    added_.clear();
    if (is_written) return Done{};
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
    put_native(added_, record);
    added_.insert(added_.end(), headers.bytes().begin(), headers.bytes().end());
    const auto *packet = reinterpret_cast<const std::uint8_t *>(one.packet.data());
    added_.insert(added_.end(), packet, packet + one.packet.size());
}

}  // namespace lanewise::verbs::port
