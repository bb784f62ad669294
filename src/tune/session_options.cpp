// SPDX-License-Identifier: BSD-3-Clause
//
// See session_options.hpp.

#include "tune/session_options.hpp"

#include "measure/bench.hpp"
#include "options/options.hpp"

namespace lanewise::tune {
namespace {}  // namespace

lw_measure_options SessionOptions::measure_options() const {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.confidence = rule.confidence;
    options.error = rule.error;
    options.time_limit_s = time_limit_s;
    options.seed = seed;
    return options;
}

void declare(Options& options, SessionOptions& session) {
    options.group("How it is measured");
    options.sizes("--sizes", "4:1M:x4", session.sizes_bytes,
                  "Message sizes in bytes: 8,1K or 4:1M:x4 or 0:100K:1K");
    options.share("--margin", session.rule.margin, "Smallest difference that counts");
    options.share("--confidence", session.rule.confidence, "Confidence level of the intervals");
    options.repetitions("--repetitions", session.repetitions.min, session.repetitions.max,
                        "Repetitions of each candidate, as bounds");
    options.duration("--budget", session.budget_s, "Time limit for the whole run; 0 means none");
    options.duration("--time-limit", session.time_limit_s, "Time limit for each size");
    options.number("--seed", "N", session.seed,
                   "Seed for the order in which candidates are interleaved");
    options.group("Output");
    options.text("-o,--output", "FILE", session.output,
                 "File to which the evidence is written (.jsonl)");
    options.flag("--resume", session.resume, "Measure only the sizes that the output file lacks");
    options
        .number("--ranks", "N", session.ranks_expected, "Refuse to run on another number of ranks")
        .without_default();
    options.text("--launcher", "NAME", session.launcher, "Launcher to record in the output");
    options.text("--transport", "NAME", session.transport, "Transport to record in the output");
}

Outcome admit(SessionOptions& session) {
    const auto [least, most] = session.repetitions;
    if (least == 0 || least > most)
        return bad_argument("repetitions \"" + repetitions_text(session.repetitions) +
                            "\" are not MIN:MAX; write 10:1000");
    session.rule.repetitions_min = least;
    session.rule.repetitions_max = most;
    const auto margin = session.rule.margin;
    if (!(margin >= 0.0 && margin < 1.0))
        return bad_argument("margin " + share_text(margin) + " is outside [0, 1); 3 % is 0.03");
    if (!(session.budget_s >= 0.0))
        return bad_argument("budget of " + duration_text(session.budget_s) + "; 0 is none");
    if (!(session.time_limit_s > 0.0))
        return bad_argument("time limit of " + duration_text(session.time_limit_s) +
                            "; name a time above 0");
    if (session.resume && session.output.empty())
        return bad_argument("--resume needs the file to go on with; add -o FILE");
    return measure::Bench::admit(session.measure_options());
}

}  // namespace lanewise::tune
