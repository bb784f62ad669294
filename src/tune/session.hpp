// SPDX-License-Identifier: BSD-3-Clause
//
// Session: many contests in one run, within a budget of time, each kept as soon
// as it is decided. A session that ends early, by its budget or by force, goes
// on where it was.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "tune/comparison_run.hpp"
#include "tune/session_options.hpp"

namespace lanewise::tools {

/* One contest to be held. */
struct Task {
    std::string key; /* the same in a later run of the same session */
    std::uint64_t message_bytes = 0;
    bool rooted = false;
    std::function<std::vector<Entrant>()> entrants;
    std::function<Json(const Verdict& verdict)> record;
};

/*
 * Holds the contests that the output file does not have yet; prints each as a
 * JSON event. `subject` says of which program the file is. Collective.
 */
Outcome hold_contests(measure::Bench& bench, const Settings& settings, const std::string& subject,
                      const std::vector<Task>& tasks);

Json figures_record(const Figures& figures);

}  // namespace lanewise::tools
