// SPDX-License-Identifier: BSD-3-Clause
//
// Faults by script: which verbs call fails, which completion carries an error, which packet is
// lost. A plan is a list of rules and a seed. It decides about the n-th occurrence of a kind that a
// rule matches by the seed, the rule, the kind and n alone, so the same program, which makes the
// same calls, meets the same faults, whatever the time, whatever other rules do, and in whatever
// order occurrences of different kinds come. A rule by time is the exception; what it did is noted
// by count, so that a replay does not depend on time either.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace lanewise::verbs::faults {

// What can go wrong. The name of a rule says which: of a call, of the opcode of a completion or of
// a packet, or of a message of the connection manager; empty for any, each counted by itself.
enum class Place : std::uint8_t { call, completion, packet, connection };

std::string_view name_of(Place place);

struct Rule {
    Place place = Place::call;
    std::string name;
    std::string device;            // that it concerns, as lanewise1; empty: all of them
    std::uint64_t queue_pair = 0;  // that it concerns (Occurrence); 0: all of them
    // Packets that it concerns: from this address, and with so many bytes of data at least.
    std::string peer;  // empty: from any
    std::uint64_t bytes_min = 0;
    // What happens: an errno, a status of a completion, or what is done to a packet or message.
    std::string what;
    std::uint32_t value = 0;  // the number of `what`, or a time in microseconds
    std::uint64_t after = 0;  // occurrences that pass first
    std::uint64_t every = 1;  // of those that follow, each so many-th
    // By time: what occurs before passes first; then the first, and no other for so long after one.
    std::uint64_t after_us = 0;
    std::uint64_t every_us = 0;
    double probability = 1;  // of each that is left
    std::uint64_t times = ~std::uint64_t{0};
    // For a replay, which decides by these two alone: the number of the rule in the script whose
    // faults were noted (0: its place in this one), and the occurrences that met them, in order.
    std::uint64_t number = 0;
    std::vector<std::uint64_t> at;
};

// What occurs, and when, from when the process began to count.
struct Occurrence {
    Place place = Place::call;
    std::string_view name = {};
    std::string_view device = {};
    std::uint64_t queue_pair = 0;  // which of those that the process has created, from 1; 0: none
    // What else is known of a packet.
    std::string_view peer = {};
    std::uint64_t bytes = 0;
    std::uint64_t time_us = 0;
};

struct Script {
    std::uint64_t seed = 0;
    std::vector<Rule> rules;
};

// A line for the seed and one for each rule, with words `key=value`, as `lanewise rdma run` writes
// them.
Result<Script> read_script(std::string_view text);

struct Decision {
    std::uint64_t rule = 0;        // its number, from 1
    std::uint64_t occurrence = 0;  // of those of its kind that match the rule, from 1
    const Rule *fault = nullptr;
};

class Plan {
  public:
    explicit Plan(Script script);

    // The fault for this occurrence; none if it is to go well. The first rule that fires counts,
    // but every rule that matches has seen it.
    std::optional<Decision> decide(const Occurrence& occurrence);
    bool concerns(Place place) const;

  private:
    struct Seen {
        std::uint64_t matched = 0;
        std::uint64_t passed = 0;  // of those, before the rule begins
        std::uint64_t next_us = 0;
        std::uint64_t fired = 0;
    };
    static bool is_due(const Rule& rule, const Occurrence& one, Seen& seen);
    bool fires(std::size_t rule, const Occurrence& one, Seen& seen) const;

    Script script_;
    std::vector<std::map<std::string, Seen, std::less<>>> seen_;  // by rule and name
};

}  // namespace lanewise::verbs::faults
