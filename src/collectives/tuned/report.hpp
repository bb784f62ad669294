// SPDX-License-Identifier: BSD-3-Clause
//
// Report: which calls were carried out by a rule and which passed on, and what
// the rules saved. One call in 64 under a rule is left to the MPI to have its
// time as well. Nonblocking calls are counted only. Times are the mean of all ranks where all of
// them follow the same rules, else those of the first; the file is written when MPI finalizes.

#pragma once

#include <cstdint>

#include "collectives/choose.hpp"

namespace lanewise::tuned {

enum class Outcome {
    intercepted, /* executed by its rule */
    sampled,     /* under a rule, but left to the MPI for comparison */
    forwarded,   /* no rule, or one whose algorithm cannot serve this call */
};

/* Whether a report was asked for; set when the library is loaded. */
extern constinit bool reporting;
inline bool reports() {
    return reporting;
}

std::int64_t now_ns();

void record(collectives::Operation operation, std::uint64_t message_bytes,
            const collectives::Rule *rule, Outcome outcome, std::int64_t elapsed_ns);

/* Has the report written in time; by this process where it `writes`. Called once. */
void arrange_report(bool writes);

}  // namespace lanewise::tuned
