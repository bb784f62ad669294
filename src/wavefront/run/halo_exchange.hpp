// SPDX-License-Identifier: BSD-3-Clause
//
// Halo exchange: the rows beside a rank's part of a matrix, which a neighbour updates.
//
// A part has a halo of `radius` rows of each neighbour at its upper and lower end. The
// wave of iteration n reads the upper neighbour's rows after iteration n (after n - 1
// for kernels that read the previous iteration, such as Jacobi's), and the lower
// neighbour's rows after iteration n - 1. So a wave may enter a part as soon as it has
// left the part above, and may leave it as soon as the wave before has entered the part
// below: waves stay chained across parts, and no iteration waits for a whole part.
// (Clauss, Gustedt and Suter (PDP 2008), section 5, send each frontier once its block
// is done.) Iterations are counted from the creation of the store. Where rows are swept
// in parallelograms, a wave sends what each parallelogram has of the rows.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"

namespace lanewise::wavefront {

enum class Side { upper, lower };

/* The state of a halo: after so many iterations, up to this parallelogram (0 for whole rows). */
struct HaloVersion {
    std::uint64_t iteration = 0;
    std::uint64_t parallelogram = 0;
};

class HaloExchange {
  public:
    virtual ~HaloExchange() = default;
    virtual bool has(Side side) const = 0;
    /* Whether the neighbour's rows of that version have arrived. */
    virtual bool ready(Side side, const HaloVersion& version) const = 0;
    /* Blocks until they have; returns false where the run was stopped meanwhile. */
    virtual bool wait(Side side, const HaloVersion& version) = 0;
    /* Removes and returns them. */
    virtual std::vector<std::byte> receive(Side side, const HaloVersion& version) = 0;
    /* Sends the part's own rows at that side. */
    virtual void send(Side side, const HaloVersion& version,
                      const std::vector<std::byte>& rows) = 0;
    /* Sets what is called, from any thread, when a halo arrives, and when none will any more as the
     * run was stopped; empty: nothing. */
    virtual void call_on_arrival(std::function<void()> arrived) = 0;
    /* The largest change of each wave over all parts; every part calls it after the same passes.
     * Fails where the run was stopped. */
    virtual Result<std::vector<double>> largest_changes(const std::vector<double>& changes) = 0;
    /* The last pass is discarded on all parts and begins again. */
    virtual void begin_again() = 0;
    /* Before the part commits its data after `iterations`: returns when the upper neighbour has
     * committed, and logs what the lower one would need again. Fails where the run was stopped. */
    virtual Outcome before_commit(std::uint64_t iterations) = 0;
    virtual void after_commit(std::uint64_t iterations) = 0;
};

}  // namespace lanewise::wavefront
