// SPDX-License-Identifier: BSD-3-Clause
//
// Course: how iterations that go in different directions are divided into passes.
//
// Waves follow each other down the strips, or up: an iteration that begins at the other end
// needs the whole result of the one before, so the next pass begins with it. Within its
// rows each wave may go left or right, unless rows are in tiles: parallelograms then lean
// one way, and waves of one pass go in one direction. Pure.

#pragma once

#include <cstdint>

#include "wavefront/layout/direction.hpp"

namespace lanewise::wavefront {

/* Rows that waves hold whole, and rows in tiles. */
enum class Rows { whole, tiled };

class Course {
  public:
    /* Of `iterations` iterations, `done` others of the same run being before them. A pass ends
     * after each `pause` iterations of the run; 0: it need not. */
    Course(Directions directions, std::uint64_t done, std::uint64_t iterations, Rows rows,
           std::uint64_t pause = 0);

    Direction direction(std::uint64_t iteration) const;
    /* How many iterations from `iteration` on can share a pass. */
    std::uint64_t chain(std::uint64_t iteration) const;
    std::uint64_t longest_chain() const;
    /* How often an iteration goes up where the one before went down, or the reverse. */
    std::uint64_t turns() const;
    /* Of the pass that begins with `iteration`, at most `waves`: a chain is divided evenly. */
    std::uint64_t waves_from(std::uint64_t iteration, std::uint64_t waves) const;
    /* Passes over all iterations, with at most `waves` waves each. */
    std::uint64_t passes(std::uint64_t waves) const;
    /* Waves of the longest of those passes. */
    std::uint64_t waves_of_longest_pass(std::uint64_t waves) const;

  private:
    bool chains(const Direction& one, const Direction& other) const;
    /* Calls act(length, times) for the lengths of all chains. */
    template <typename Act>
    void each_chain(const Act& act) const;

    Directions directions_;
    std::uint64_t done_;
    std::uint64_t iterations_;
    Rows rows_;
    std::uint64_t pause_;
};

}  // namespace lanewise::wavefront
