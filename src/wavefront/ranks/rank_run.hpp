// SPDX-License-Identifier: BSD-3-Clause
//
// A run over the parts of a store, one part per rank.
//
// Ranks work on one pass after each other, and on several passes at once: while rank 1
// is in pass p, rank 0 is in pass p + 1. A part commits a pass only once the part above
// has, so that neighbours are never more than one pass apart; those behind catch up
// when the run is resumed. With a tolerance no part commits before all have exchanged
// their changes, so ranks end each pass together.

#pragma once

#include <mpi.h>

#include <functional>

#include "wavefront/run/run.hpp"

namespace lanewise::wavefront {

struct RankRun {
    std::string folder; /* of this rank's part */
    std::string kernel;
    std::vector<double> parameters;
    RunOptions options;  /* iterations and tolerance are ignored where a run goes on */
    std::string borders; /* of the whole store, in place of those of `options`; empty: fixed */
    bool resuming = false;
};

/* Every rank of `comm` calls this together; each gets its own report. Where a rank finds before the
 * first pass that it cannot run, all fail. One that fails later leaves others waiting for its rows:
 * its program ends the job. */
Result<RunReport> run_rank(MPI_Comm comm, const RankRun& wanted);

/* A kernel for the part `store`, whose first row is row `first_row` of the whole store. */
using MakeKernel = std::function<Result<Kernel>(const Store& store, std::int64_t first_row)>;
enum class Begin { anew, where_it_was };

/* What this rank found, or what the first one found that cannot go on: all ranks of `comm` call
 * this together, so that none waits for one that has left. */
Outcome agree(MPI_Comm comm, const Outcome& own);

/* The same over a part that is open, and with any kernel; borders are those of the whole store. */
Result<RunReport> run_part(MPI_Comm comm, Store& store, const MakeKernel& make,
                           const RunOptions& options, Begin begin);

}  // namespace lanewise::wavefront
