// SPDX-License-Identifier: BSD-3-Clause
//
// ClockLine: from the clock of a rank to that of rank 0, by what was added to it at the beginning
// and at the end of a run. Clocks of hosts drift apart evenly, so what lies between is
// interpolated.

#pragma once

#include <cmath>
#include <cstdint>

namespace lanewise::profile {

struct ClockLine {
    std::int64_t begin_ns = 0; /* on the clock of the rank */
    std::int64_t end_ns = 0;
    std::int64_t begin_offset_ns = 0; /* clock of rank 0 minus that of the rank */
    std::int64_t end_offset_ns = 0;

    std::int64_t global_ns(std::int64_t local_ns) const {
        const auto span_ns = end_ns - begin_ns;
        const double part =
            span_ns > 0 ? static_cast<double>(local_ns - begin_ns) / static_cast<double>(span_ns)
                        : 0.0;
        const auto drift_ns = static_cast<double>(end_offset_ns - begin_offset_ns);
        return local_ns + begin_offset_ns + std::llround(part * drift_ns);
    }
};

}  // namespace lanewise::profile
