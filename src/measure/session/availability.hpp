// SPDX-License-Identifier: BSD-3-Clause
//
// The subjects that tell what messages cost the processor: polling and
// post-work-wait.

#pragma once

#include <set>
#include <string>

#include "measure/bench.hpp"
#include "measure/session/arguments.hpp"
#include "measure/session/output.hpp"

namespace lanewise::measure::session {

/* How many records the arguments ask for. */
std::size_t availability_records(const Arguments& arguments);

/* Measures and writes what is not `done` already. Collective; the outcome may differ on rank 0,
   which writes. */
Outcome measure_polling(const Arguments& arguments, const std::set<std::string>& done,
                        measure::Bench& bench, Output& output);
Outcome measure_post_work_wait(const Arguments& arguments, const std::set<std::string>& done,
                               measure::Bench& bench, Output& output);

}  // namespace lanewise::measure::session
