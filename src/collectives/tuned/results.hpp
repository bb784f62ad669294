// SPDX-License-Identifier: BSD-3-Clause
//
// Results: a hash of what each reduction gave this process, so that the reductions of two runs can
// be compared one by one (`lanewise check same-bits`). Each has a number, in the order in which a
// program calls blocking reductions and starts others: these may end in another order in each run.
//
// Each process writes a file of its own and asks nobody: rank-0.jsonl, rank-1.jsonl, ... in the
// folder of LANEWISE_RESULTS, by its rank in MPI_COMM_WORLD.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "collectives/execute/call.hpp"
#include "collectives/profile/attribution.hpp"

namespace lanewise::tuned {

/* Whether results are noted: from the end of MPI_Init to the beginning of MPI_Finalize. */
extern constinit bool noting_results;

/* After MPI is initialized; where LANEWISE_RESULTS is set. */
void begin_results();

/* A reduction that has ended well; `site` is where it returns to. */
void note_result(const collectives::Call& call, const void *site);

/* A reduction that the program does not wait for where it starts it: what can be said of it before
   it has a result, and where that will be. */
struct ExpectedResult;

/* Null: it is no reduction, or its results are not noted. A persistent one is expected once, and
   started as often as the program likes. */
std::shared_ptr<const ExpectedResult> expect_result(const collectives::Call& call,
                                                    profile::Form form);

/* One that has been started, at `site`. */
struct StartedResult {
    std::shared_ptr<const ExpectedResult> expected;
    std::uint64_t number = 0;
    const void *site = nullptr;
};
StartedResult start_result(std::shared_ptr<const ExpectedResult> expected, const void *site);

/* One that the program found complete. */
void note_result(const StartedResult& started);

}  // namespace lanewise::tuned
