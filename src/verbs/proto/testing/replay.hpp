// SPDX-License-Identifier: BSD-3-Clause
//
// A device in the place of one that was captured: it posts the same work, hears what the other end
// said, and should say what was said in its place. Everything it needs to know follows from the
// packets: numbers of queue pairs and packets, keys and addresses of memory, what lay there.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "verbs/proto/device/device.hpp"
#include "verbs/proto/testing/capture_file.hpp"
#include "verbs/proto/wire/packet.hpp"

namespace lanewise::verbs::testing {

// A packet of the capture, and what it says.
struct Said {
    Nanoseconds at = 0;
    Arrival from;
    std::span<const std::byte> datagram;
    Packet packet;
    bool ours = false;
};

class Replay {
  public:
    // `place` is the address of the end to be played. Every datagram must be a packet.
    Replay(std::span<const Heard> capture, const Address& place);

    void play();

    const std::vector<Said>& said() const { return said_; }
    // What we said.
    const std::vector<std::vector<std::byte>>& played() const { return played_; }
    const std::vector<Completion>& completions() const { return completed_; }
    // How many completions there should be: of what we posted, and of the other end's messages.
    std::size_t work() const { return requests_ + receives_; }
    // How many packets with data did not land where they should.
    std::size_t astray() const { return astray_; }
    const PortCounters& counters() const { return device_.counters(1); }

  private:
    void expose_memory();
    void lay_out_reads();
    void connect(const Address& place);
    void post_before_next_answer(std::size_t index);
    void post(std::size_t index);
    void hear(const Said& said);
    void look(const Said& said);
    void say(Nanoseconds now);
    std::byte *exposed(std::uint64_t address) { return exposed_.data() + (address - base_); }
    std::byte *take_own(std::size_t bytes);
    Slice own_slice(const std::byte *place, std::size_t bytes) const;

    std::vector<Said> said_;
    Device device_;
    CompletionQueue *queue_ = nullptr;
    QueuePair *queue_pair_ = nullptr;

    std::vector<std::byte> exposed_;  // what the other end writes to and reads from
    std::uint64_t base_ = 0;          // its address
    std::vector<std::byte> own_;      // what we send from, and receive into
    std::size_t own_used_ = 0;
    std::uint32_t own_key_ = 0;

    std::deque<std::byte *> receive_places_;
    std::map<std::uint32_t, std::byte *> read_places_;  // by the number of the response
    std::byte *message_place_ = nullptr;                // of the rest of the other end's message
    std::set<std::uint32_t> heard_;                     // the numbers of its requests
    std::set<std::uint32_t> posted_;  // the numbers of our first packets of a message
    std::size_t requests_ = 0;
    std::size_t receives_ = 0;
    std::size_t astray_ = 0;
    std::vector<std::byte> buffer_;
    std::vector<std::vector<std::byte>> played_;
    std::vector<Completion> completed_;
};

}  // namespace lanewise::verbs::testing
