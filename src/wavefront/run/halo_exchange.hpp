// SPDX-License-Identifier: BSD-3-Clause
//
// Frontiers: the rows beside a part of a matrix, which a neighbour updates.
//
// A part has `thickness` rows of each neighbour at its upper and lower end. The
// wave of iteration n reads the upper neighbour's rows as iteration n has left
// them (n - 1 where a kernel reads the iteration before, as Jacobi's), and the
// lower neighbour's as iteration n - 1 has. So a wave may enter a
// part as soon as it has left the part above, and leave it as soon as the wave
// before has entered the part below: waves stay chained across parts, and no
// iteration waits for a whole part. (Paper 002, section 5, sends each frontier
// once its block is done.) Iterations are counted from the store's beginning.
// In panels a wave sends what each panel has of the rows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"

namespace lanewise::wavefront {

enum class Side { upper, lower };

/* After how many iterations rows are as they are, and up to which panel: 0 where rows are whole. */
struct Moment {
    std::uint64_t iteration = 0;
    std::uint64_t panel = 0;
};

class Frontiers {
  public:
    virtual ~Frontiers() = default;
    virtual bool has(Side side) const = 0;
    /* Whether the neighbour's rows of that moment have come. */
    virtual bool ready(Side side, const Moment& moment) const = 0;
    /* Returns when they have. */
    virtual void wait(Side side, const Moment& moment) = 0;
    /* Takes them out of what has come. */
    virtual std::vector<std::byte> take(Side side, const Moment& moment) = 0;
    /* Sends the part's own rows at that side. */
    virtual void give(Side side, const Moment& moment, const std::vector<std::byte>& rows) = 0;
    /* Called, from any thread, when something has come; empty: nobody asks any more. */
    virtual void call_on_arrival(std::function<void()> news) = 0;
    /* The largest of each wave's changes over all parts; every part asks after the same passes. */
    virtual std::vector<double> largest_changes(const std::vector<double>& changes) = 0;
    /* The pass that was just gone through is thrown away on all parts, and begun again. */
    virtual void begin_again() = 0;
    /* Before the part's data after `iterations` become the truth: returns when those of the upper
     * neighbour have, and keeps what the lower one would need again. */
    virtual Outcome before_commit(std::uint64_t iterations) = 0;
    virtual void after_commit(std::uint64_t iterations) = 0;
};

}  // namespace lanewise::wavefront
