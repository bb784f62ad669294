// SPDX-License-Identifier: BSD-3-Clause
//
// Two devices on a simulated wire, in virtual time. Each port of one is joined to the same port of
// the other by a path with faults of its own; a seed decides about every packet, so a failure is
// repeated by its seed. Port p of peer i has the address 10.0.p.i, or fd00::p:i where IPv6 is
// asked.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "verbs/proto/device/device.hpp"

namespace lanewise::verbs::testing {

struct Faults {
    double loss = 0;
    double duplicate = 0;
    double reorder = 0;  // delayed by up to ten times the delay, or by as much as held_ns says
    double corrupt = 0;  // one bit flipped
    Nanoseconds delay_ns = 5'000;
    bool cut = false;
    std::optional<std::size_t> deaf = {};  // the peer that nothing reaches
    double rate_bits_per_s = 0;            // 0: as fast as it is sent
    // Packets that would wait for longer than this are marked, if they may be.
    Nanoseconds marks_above_ns = never;
    // Packets that would wait for longer than this are lost.
    Nanoseconds drops_above_ns = never;
    Nanoseconds held_ns = 0;
};

enum class Family : std::uint8_t { ipv4, ipv6 };

Address address_of(Family family, std::size_t peer, std::uint8_t port);

class Wire {
  public:
    Wire(const DeviceConfig& config, std::uint64_t seed);
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    Device& device(std::size_t peer) { return devices_[peer]; }
    Faults& path(std::uint8_t port) { return paths_[port - 1u]; }
    void all_paths(const Faults& faults) { paths_.assign(paths_.size(), faults); }
    // Both ends of a path lose their carrier, and what is on the way is lost.
    void cut(std::uint8_t port);
    void mend(std::uint8_t port);

    Nanoseconds now() const { return now_; }
    // Runs until `done` holds, or until nothing more would happen, or until the moment.
    bool run_until(const std::function<bool()>& done, Nanoseconds until = never);
    void run_for(Nanoseconds duration_ns);

    void deliver(std::size_t peer, std::span<const std::byte> datagram, const Arrival& arrival);

    // Sees, and may change, each datagram before the faults do; false drops it.
    std::function<bool(std::size_t sender, std::vector<std::byte>&)> tap;
    std::uint64_t datagrams = 0;
    Nanoseconds longest_wait_ns = 0;  // of a packet for the path
    std::uint64_t transmissions = 0;
    std::mt19937_64 random;

  private:
    struct Flight {
        std::size_t receiver = 0;
        Arrival arrival;
        std::vector<std::byte> bytes;
    };
    std::optional<Nanoseconds> pass(Flight& flight, const Faults& faults);
    OriginOf origin_of(std::size_t sender);
    bool chance(double probability);
    void pump();
    void launch(std::size_t sender, const Transmission& run, std::span<const std::byte> bytes);
    void fly(const Flight& flight, const Faults& faults);

    // As Linux numbers the packets of a connected socket; they soon start again from 0.
    std::array<std::uint16_t, 2> next_ip_ids_{0xfff0, 0x1234};
    std::array<Device, 2> devices_;
    std::vector<Faults> paths_;
    // When each path is free again, by its port and who receives.
    std::map<std::pair<std::uint8_t, std::size_t>, Nanoseconds> free_at_;
    std::multimap<Nanoseconds, Flight> flights_;
    std::vector<std::byte> buffer_;
    Nanoseconds now_ = 1'000'000;
};

inline constexpr Nanoseconds second_ns = 1'000'000'000;

// For Wire::run_until: until nothing more would happen.
inline bool idle() {
    return false;
}

}  // namespace lanewise::verbs::testing
