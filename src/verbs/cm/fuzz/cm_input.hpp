// SPDX-License-Identifier: BSD-3-Clause
//
// The connection manager under attack: management datagrams as they come and spoiled, messages out
// of turn and of strangers, in between what a program does, all from an attacker's bytes. The
// fuzzer and a unit test drive it.

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lanewise::verbs::cm {

// Returns what was wrong, or nothing; reads out of bounds are found by the sanitizers.
std::string fuzz_cm(std::span<const std::uint8_t> input);

}  // namespace lanewise::verbs::cm
