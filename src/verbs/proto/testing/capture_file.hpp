// SPDX-License-Identifier: BSD-3-Clause
//
// Reads RoCE packets from a capture (pcap 2.4) of Ethernet frames with IPv4.

#pragma once

#include <filesystem>
#include <vector>

#include "verbs/proto/wire/address.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs::testing {

struct Heard {
    Nanoseconds at = 0;
    Arrival from;
    std::vector<std::byte> datagram;
};

// Empty where the file is no such capture.
std::vector<Heard> read_capture(const std::filesystem::path& path);

}  // namespace lanewise::verbs::testing
