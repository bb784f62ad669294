// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of lanewise-wavefront-ranks, and what it prints at its end.

#pragma once

#include <string>

#include "options/options.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace lanewise::wavefront {

struct RankArguments {
    RankRun run; /* its folder may have %r in place of the rank */
    bool json = false;
};

void declare(Options& options, RankArguments& arguments);

/* %r in the folder's name is the number of the rank. */
RankRun run_of_rank(const RankArguments& arguments, int rank);

/* A sentence, or a JSON object. */
std::string summary(const RunReport& report, int ranks, bool json);

}  // namespace lanewise::wavefront
