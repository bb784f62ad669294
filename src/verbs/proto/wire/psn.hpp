// SPDX-License-Identifier: BSD-3-Clause
//
// Packet sequence numbers: 24 bits that wrap. Of two numbers the one at most half the circle ahead
// is the later one, so a comparison is the sign of a difference and holds as long as fewer than
// 2^23 packets are outstanding.

#pragma once

#include <cstdint>

namespace lanewise::verbs {

class Psn {
  public:
    constexpr Psn() = default;
    constexpr explicit Psn(std::uint32_t value) : value_(value & mask) {}

    constexpr std::uint32_t value() const { return value_; }
    constexpr bool operator==(const Psn&) const = default;

    static constexpr std::uint32_t mask = 0xffffff;

  private:
    std::uint32_t value_ = 0;
};

constexpr Psn operator+(Psn from, std::uint32_t packets) {
    return Psn(from.value() + packets);
}
constexpr Psn operator-(Psn from, std::uint32_t packets) {
    return Psn(from.value() - packets);
}

// How many packets `to` lies after `from`; negative where it lies before.
constexpr std::int32_t distance(Psn from, Psn to) {
    const std::uint32_t ahead = (to.value() - from.value()) & Psn::mask;
    return ahead < 0x800000 ? static_cast<std::int32_t>(ahead)
                            : static_cast<std::int32_t>(ahead) - 0x1000000;
}

constexpr bool before(Psn a, Psn b) {
    return distance(a, b) > 0;
}

}  // namespace lanewise::verbs
