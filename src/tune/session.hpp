// SPDX-License-Identifier: BSD-3-Clause
//
// Session: many comparisons in one run, within a time budget, each recorded as soon as it is
// decided. A session that ended early, by its budget or by force, continues where it was.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "tune/comparison_run.hpp"
#include "tune/session_options.hpp"

namespace lanewise::tune {

/* One comparison to be made. */
struct Task {
    std::string key;        /* the same in a later run of the same session */
    std::string collective; /* as it is named; sizes of one take times that follow each other */
    std::uint64_t message_bytes = 0;
    bool rooted = false;
    enum class Kind { confirmed, compared, judged } kind = Kind::confirmed;
    int root = 0;
    double expected_s = 0.0; /* of a repetition of the reference, where it is known */
    /* Before a brief look each has a promise. */
    std::function<std::vector<Contender>(FirstLook look)> contenders;
    std::function<Json(const Verdict& verdict)> record;
};

/*
 * Makes the comparisons that the output file does not have yet; prints each as a
 * JSON event. `subject` says of which program the file is. Collective.
 */
Outcome run_session(measure::Bench& bench, const SessionOptions& settings,
                    const std::string& subject, const std::vector<Task>& tasks);

Json figures_record(const Figures& figures);

}  // namespace lanewise::tune
