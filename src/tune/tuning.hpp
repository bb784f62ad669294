// SPDX-License-Identifier: BSD-3-Clause
//
// The comparisons of lanewise-tune: the MPI's default against every candidate, for
// each collective and size.

#pragma once

#include <vector>

#include "tune/arguments.hpp"
#include "tune/mpi_algorithms.hpp"
#include "tune/session.hpp"

namespace lanewise::tune {

/* How many comparisons there are. */
std::size_t count_tasks(const TuneArguments& arguments);

/* Runs them. Collective over MPI_COMM_WORLD. */
Outcome tune(const TuneArguments& arguments);

}  // namespace lanewise::tune
