// SPDX-License-Identifier: BSD-3-Clause
//
// Packets as a file that tcpdump and Wireshark read (pcap 2.4, link type 101: raw IP). The headers
// of IP and UDP are written anew from what is known of them, so that nobody needs to be root.

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "verbs/port/address.hpp"

namespace lanewise::verbs::port {

struct Captured {
    Address source{};
    Address destination{};
    std::uint16_t source_port = 0;
    std::uint16_t ip_id = 0;  // where it is IPv4
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 64;
    std::span<const std::byte> packet;
};

class Capture {
  public:
    // Begins `path` anew; "%p" in it stands for the number of this process.
    static Result<Capture> open(const std::string& path);

    void add(const Captured& one, std::chrono::system_clock::time_point at);
    // Hands to the kernel what was added; fails where the file did not take all of it.
    Outcome flush();

  private:
    struct Close {
        void operator()(std::FILE *file) const { std::fclose(file); }
    };
    Capture(std::string path, std::FILE *file) : path_(std::move(path)), file_(file) {}

    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace lanewise::verbs::port
