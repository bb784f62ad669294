// SPDX-License-Identifier: BSD-3-Clause
//
// Clock: one source of local time in seconds, possibly skewed on purpose.
//
// A skewed clock reads t + offset + drift (t - origin): it stands for a host whose clock runs
// differently, so that synchronisation can be tested where the truth is known.

#pragma once

#include <cstdint>

namespace lanewise {

/* Which ranks read the very same clock. */
enum class ClockScope { rank, host, everywhere };

struct Clock {
    const char *name = "monotonic";
    double (*read)() = nullptr;
    double offset_s = 0.0;
    double drift = 0.0;
    double origin_s = 0.0;
    ClockScope scope = ClockScope::host;

    double now_s() const {
        const double t = read();
        return t + (offset_s + drift * (t - origin_s));
    }
    /* What an unskewed clock reads now; the truth in tests. */
    double true_s() const { return read(); }
};

/* CLOCK_MONOTONIC. */
double monotonic_s();
std::int64_t monotonic_ns();

Clock monotonic_clock();
Clock skewed_clock(double offset_s, double drift);

}  // namespace lanewise
