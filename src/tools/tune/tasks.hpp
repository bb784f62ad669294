// SPDX-License-Identifier: BSD-3-Clause
//
// The contests of lanewise-tune: the MPI's default against every candidate, for
// each collective and size.

#pragma once

#include <vector>

#include "tools/contest/own.hpp"
#include "tools/contest/session.hpp"
#include "tools/tune/arguments.hpp"

namespace lanewise::tools {

/* How many contests there are. */
std::size_t count_tasks(const TuneArguments& arguments);

/* Runs them. Collective over MPI_COMM_WORLD. */
Outcome tune(const TuneArguments& arguments);

}  // namespace lanewise::tools
