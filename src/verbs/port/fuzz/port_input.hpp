// SPDX-License-Identifier: BSD-3-Clause
//
// The port layer under attack: batches of packets, probes of places, letters and rings made of an
// attacker's bytes, through real sockets on the loopback interface. The fuzzer and a unit test
// drive it.

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lanewise::verbs::port {

// Returns what was wrong, or nothing; reads out of bounds are found by the sanitizers.
std::string fuzz_port(std::span<const std::uint8_t> input);

}  // namespace lanewise::verbs::port
