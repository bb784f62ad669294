// SPDX-License-Identifier: BSD-3-Clause
//
// Report: which calls were intercepted and executed by a rule, which were forwarded, and how much
// time the rules saved. One call in 64 under a rule is forwarded so that the MPI's own time is
// known as well. Nonblocking calls are only counted. Times are the mean of all ranks if all of them
// follow the same rules, else those of the first rank. The file is written when MPI finalizes.

#pragma once

#include <cstdint>

#include "collectives/choose.hpp"

namespace lanewise::tuned {

enum class CallOutcome {
    intercepted, /* executed by its rule */
    sampled,     /* under a rule, but left to the MPI for comparison */
    forwarded,   /* no rule, or one whose algorithm cannot serve this call */
};

/* Whether a report was asked for; set when the library is loaded. */
extern constinit bool reporting;
inline bool reports() {
    return reporting;
}

void record(collectives::Operation operation, std::uint64_t message_bytes,
            const collectives::Rule *rule, CallOutcome outcome, std::int64_t elapsed_ns);

/* Who writes the file. */
enum class ReportWriter : std::uint8_t { this_process, another };

/* Has the report written before MPI ends, once there is a world; the first call of these counts. */
void prepare_report(ReportWriter writer);

/* Has what this process counts written when it ends, unless a world takes over: sessions collect
   nothing from others. Called by the first of all processes. */
void prepare_report_of_sessions();

}  // namespace lanewise::tuned
