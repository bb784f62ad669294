// SPDX-License-Identifier: BSD-3-Clause
//
// A device under attack: queue pairs of every transport in the midst of work, guarded memory, and
// packets made of an attacker's bytes, from the peer's addresses and from others, while the program
// deregisters memory and destroys queue pairs. Whatever the bytes are, nothing outside the
// registered region may change or leave, and the device must go on. The fuzzer and the unit test
// both drive it.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {

// One at a time in a thread.
class Target {
  public:
    Target();

    // Takes the bytes as a script: packets with a valid ICRC or without, time, new work, port
    // changes. Every prefix is a script, so a fuzzer can grow one.
    void play(std::span<const std::uint8_t> script);

    // Whether the memory around the registered region is as it was, and nothing of it was sent.
    bool unharmed() const;
    std::uint64_t accepted() const { return accepted_; }

  private:
    struct Script;
    void connect_all();
    void packet(Script& script);
    void work(Script& script);
    void world(Script& script);
    // What a program does to its objects meanwhile.
    void life(Script& script);
    // Registers the memory anew as `region_` says, and makes windows of both types.
    void register_memory();
    void remove_memory();
    void make_queue_pair(std::size_t index);
    static void reset(QueuePair& queue_pair);
    static void modify(QueuePair& queue_pair, Script& script);
    void drain();

    Device device_;
    std::span<std::byte> memory_;
    MemoryRegion region_;
    std::uint32_t key_ = 0;
    std::array<std::uint32_t, 2> windows_{};  // their keys, as they were last bound
    CompletionQueue *completions_ = nullptr;
    SharedReceiveQueue *shared_ = nullptr;  // that the extended connection receives into
    std::vector<QueuePair *> queue_pairs_;
    std::span<std::byte> buffer_;
    Nanoseconds now_ = 0;
    bool leaked_ = false;
    bool wrong_ = false;
    std::uint64_t accepted_ = 0;
};

}  // namespace lanewise::verbs::testing
