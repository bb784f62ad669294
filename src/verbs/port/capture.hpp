// SPDX-License-Identifier: BSD-3-Clause
//
// Packets as a file that tcpdump and Wireshark read (pcap 2.4, link type 101: raw IP). The headers
// of IP and UDP are written anew from what is known of them, so that nobody needs to be root.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
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
    // "%p" in `path` stands for the number of this process. The file begins anew unless a process
    // is writing to it, be it this one: then the packets of all of them are in it.
    static Result<Capture> open(const std::string& path);

    // After fork, in the child: the files are the parent's, which would seem to be writing to them
    // as long as the child lives.
    static void close_in_child();

    void add(const Captured& one, std::chrono::system_clock::time_point at);
    // Hands to the kernel what was added; fails where the file did not take all of it.
    Outcome flush();

  private:
    Capture(std::string path, std::shared_ptr<Descriptor> file)
        : path_(std::move(path)), file_(std::move(file)) {}

    std::string path_;
    std::shared_ptr<Descriptor> file_;
    std::vector<std::uint8_t> added_;
};

}  // namespace lanewise::verbs::port
