// SPDX-License-Identifier: BSD-3-Clause
//
// See course.hpp.

#include "wavefront/plan/course.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lanewise::wavefront {
namespace {

std::uint64_t quotient_up(std::uint64_t whole, std::uint64_t each) {
    return whole / each + (whole % each > 0 ? 1 : 0);
}

}  // namespace

Course::Course(Directions directions, std::uint64_t done, std::uint64_t iterations, Rows rows,
               std::uint64_t pause)
    : directions_(std::move(directions)),
      done_(done),
      iterations_(iterations),
      rows_(rows),
      pause_(pause) {}

Direction Course::direction(std::uint64_t iteration) const {
    return directions_[(done_ + iteration) % directions_.size()];
}

bool Course::chains(const Direction& one, const Direction& other) const {
    return rows_ == Rows::tiled ? one == other : one.up == other.up;
}

std::uint64_t Course::chain(std::uint64_t iteration) const {
    const auto first = direction(iteration);
    auto rest = iterations_ - iteration;
    if (pause_ > 0) rest = std::min(rest, pause_ - (done_ + iteration) % pause_);
    for (std::uint64_t length = 1; length < directions_.size(); ++length) {
        if (!chains(first, direction(iteration + length))) return std::min(length, rest);
    }
    return rest;
}

// After one cycle from the end of a chain on, the chains are the same again.
template <typename Act>
void Course::each_chain(const Act& act) const {
    // Pauses repeat in a cycle of their own.
    const auto turns = std::max<std::uint64_t>(directions_.size(), 1);
    const auto cycle = pause_ > 0 ? std::lcm(pause_, turns) : turns;
    std::uint64_t at = chain(0);
    if (at > 0) act(at, std::uint64_t{1});
    const auto whole_cycles = (iterations_ - at) / cycle;
    const auto end_of_cycle = at + (whole_cycles > 0 ? cycle : 0);
    while (at < end_of_cycle) {
        const auto length = chain(at);
        act(length, whole_cycles);
        at += length;
    }
    if (whole_cycles > 1) at += (whole_cycles - 1) * cycle;
    while (at < iterations_) {
        const auto length = chain(at);
        act(length, std::uint64_t{1});
        at += length;
    }
}

std::uint64_t Course::longest_chain() const {
    std::uint64_t longest = 0;
    each_chain([&](std::uint64_t length, std::uint64_t /*times*/) {
        longest = std::max(longest, length);
    });
    return longest;
}

std::uint64_t Course::turns() const {
    if (iterations_ < 2) return 0;
    const auto turns_of = [this](std::uint64_t steps) {
        std::uint64_t turns = 0;
        for (std::uint64_t i = 0; i < steps; ++i)
            turns += direction(i).up != direction(i + 1).up ? 1U : 0U;
        return turns;
    };
    const auto cycle = directions_.size();
    const auto steps = iterations_ - 1;
    const auto cycles = steps / cycle;
    return (cycles > 0 ? cycles * turns_of(cycle) : 0) + turns_of(steps % cycle);
}

std::uint64_t Course::waves_from(std::uint64_t iteration, std::uint64_t waves) const {
    const auto length = chain(iteration);
    const auto passes = quotient_up(length, waves);
    return quotient_up(length, passes);
}

std::uint64_t Course::passes(std::uint64_t waves) const {
    std::uint64_t count = 0;
    each_chain([&](std::uint64_t length, std::uint64_t times) {
        count += times * quotient_up(length, waves);
    });
    return count;
}

std::uint64_t Course::waves_of_longest_pass(std::uint64_t waves) const {
    std::uint64_t most = 0;
    each_chain([&](std::uint64_t length, std::uint64_t /*times*/) {
        const auto passes = quotient_up(length, waves);
        most = std::max(most, quotient_up(length, passes));
    });
    return most;
}

}  // namespace lanewise::wavefront
