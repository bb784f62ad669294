// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers: what the caller's memory holds on a rank before a collective, what it must hold
// afterwards, and where the two buffers are the same memory.

#pragma once

#include <cstdint>
#include <vector>

#include "collectives/checker/checker.hpp"
#include "collectives/checker/content.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Memory of a rank: the caller's two buffers, one where they coincide, and scratch. */
inline constexpr int memories = 3;

/* Where a place lies: units [base, base + units) of a memory. */
struct Extent {
    int memory = 0;
    std::int64_t base = 0;
    std::int64_t units = 0;
};

/* What the receive buffer must hold: a run, or the reduction of units from `index` on over the
   first ranks. */
struct Expected {
    Run run;
    int reduced_ranks = 0; /* 0: not reduced */
};

struct Buffers {
    Extent extents[3]; /* by model::Place */
    std::vector<Run> send;
    std::vector<Run> receive;
    std::vector<Expected> expected;

    const Extent& of(model::Place place) const { return extents[static_cast<std::size_t>(place)]; }
};

/* Fills `buffers` with what `rank` sees of the trial. */
void lay_out(const Trial& trial, int rank, std::int64_t scratch_units, Buffers& buffers);

}  // namespace lanewise::collectives
