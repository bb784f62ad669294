// SPDX-License-Identifier: BSD-3-Clause
//
// What the fuzzers, and corpus_test, do with an input. Each function returns what is wrong, or
// nothing; reads and writes out of bounds are found by the sanitizers.

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lanewise::verbs::testing {

using Input = std::span<const std::uint8_t>;

// The parser: bytes are no packet, or one that lies inside them and is written as it was read.
std::string fuzz_packet(Input input);

// A whole device under attack (hostile.hpp), the input being the script.
std::string fuzz_engine(Input input);

// Two devices with a connection between them (duel.hpp), the input being the script.
std::string fuzz_pair(Input input);

}  // namespace lanewise::verbs::testing
