// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of lanewise-wavefront-ranks, and what it prints at the end.

#pragma once

#include <string>

#include "options/options.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace lanewise::wavefront {

struct RankArguments {
    RankRun run; /* its folder may have %r in place of the rank */
    bool json = false;
};

/* Declares the options, which are read into `arguments`. */
void declare(Options& options, RankArguments& arguments);

/* The run of one rank: %r in the folder's name is its number. */
RankRun run_of_rank(const RankArguments& arguments, int rank);

/* A sentence, or a JSON object. */
std::string summary(const RunReport& report, int ranks, bool json);

}  // namespace lanewise::wavefront
