// SPDX-License-Identifier: BSD-3-Clause
//
// Work: a loop that takes a known time, keeps the processor busy and touches no
// memory, so that the processor time that messages cost shows as a longer loop.
// Frequencies and the load of neighbours change, so the calibration is a starting
// point, and each repetition also times its work without messages.

#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace lanewise::measure {

#ifdef LANEWISE_SIMULATED
constexpr bool work_takes_time = false;
#else
constexpr bool work_takes_time = true;
#endif
/* What an operation that works would need here; null where it has it. */
constexpr const char *work_lacks = work_takes_time ? nullptr : "work that takes time";

/* `iterations` steps of a chain that no compiler can shorten. */
inline void work(std::uint64_t iterations) {
    std::uint64_t x = iterations;
    for (std::uint64_t i = 0; i < iterations; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        asm volatile("" : "+r"(x));
    }
}

/* The time of one step: the least of several trials, each long against a clock reading. */
double calibrate_work_s(const Clock& clock);

/* The steps that take about `seconds`, at least one. */
inline std::uint64_t steps_for(double seconds, double step_s) {
    return seconds > step_s ? static_cast<std::uint64_t>(seconds / step_s) : 1;
}

}  // namespace lanewise::measure
