// SPDX-License-Identifier: BSD-3-Clause
//
// Two devices with a connection between them, and a script that posts work on both, cuts and mends
// ports, migrates, deregisters, destroys, and loses, repeats, delays and spoils packets.
// Whatever it does, a request completes at most once, and if both queue pairs live at the end, each
// completes. The fuzzer and a unit test drive it.

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lanewise::verbs::testing {

// Returns what was wrong, or nothing.
std::string duel(std::span<const std::uint8_t> script);

}  // namespace lanewise::verbs::testing
