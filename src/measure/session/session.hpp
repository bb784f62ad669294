// SPDX-License-Identifier: BSD-3-Clause
//
// One run of lanewise-measure under MPI.

#pragma once

#include "base/result.hpp"
#include "measure/session/arguments.hpp"

namespace lanewise::measure::session {

/* The points that the arguments ask for, as JSON; needs no MPI. */
Result<std::string> describe_plan(const Arguments& arguments);

/* Measures. Collective; the outcome is the same on every rank. */
Outcome run_session(const Arguments& arguments);

}  // namespace lanewise::measure::session
