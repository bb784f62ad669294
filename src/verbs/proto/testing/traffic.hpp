// SPDX-License-Identifier: BSD-3-Clause
//
// Random work in both directions of a pair, and the proof that it was done: every request once, in
// order, with the right data and the right completions. All is decided by a seed before anything is
// sent, so what must come out is known.

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {

// Memory for the traffic of one peer, by areas.
inline constexpr std::size_t traffic_memory_bytes = 4 << 20;

struct Load {
    std::size_t requests = 60;
    std::size_t bytes_max = 20'000;
    bool with_memory = true;        // writes, and for RC reads and atomics
    Nanoseconds pause_ns = 40'000;  // the longest between two rounds of posting
    bool receives_first = false;    // all receives wait before the first request is posted
};

class Traffic {
  public:
    Traffic(Pair& pair, std::uint64_t seed, const Load& load);

    // Posts a little, lets the wire run a little; true when everything is done.
    bool round();
    // Rounds until all is done; false where that took longer than `limit_ns`.
    bool finish(Nanoseconds limit_ns);
    // What went wrong, a line each.
    std::vector<std::string> mistakes();
    // Completions of sends that were not successes, in the order in which they came.
    const std::vector<Completion>& failures() const { return failures_; }

  private:
    struct Job {
        Operation operation = Operation::send;
        std::uint32_t flags = 0;
        std::size_t local = 0;
        std::size_t remote = 0;
        std::size_t bytes = 0;
        std::uint64_t add = 0;
        std::uint64_t expected = 0;  // what an atomic returns
        std::uint32_t window = 0;    // the key of that which it changes
    };
    struct Side {
        Peer *self = nullptr;
        Peer *other = nullptr;
        std::vector<Job> jobs;
        std::vector<std::size_t> incoming;  // the jobs of the other side that take a receive
        std::size_t posted = 0;
        std::size_t receives_posted = 0;
        std::vector<Completion> sent;
        std::vector<Completion> received;
    };
    void plan(Side& side, const Load& load);
    Operation choose(const Side& side, const Load& load);
    void plan_window(const Side& side, Job& job);
    void post(Side& side);
    void post_one(Side& side);
    void post_receives(Side& side, std::uint64_t most);
    void collect(Side& side);
    bool done(const Side& side) const;
    void check_sends(const Side& side, std::vector<std::string>& wrong) const;
    void check_windows(const Side& side, std::vector<std::string>& wrong) const;
    void check_receives(const Side& side, const Side& other, std::vector<std::string>& wrong) const;
    std::size_t landing(const Side& side, std::size_t receive) const;

    Pair& pair_;
    Load load_;
    std::mt19937_64 random_;
    Side sides_[2];
    std::vector<Completion> failures_;
};

}  // namespace lanewise::verbs::testing
