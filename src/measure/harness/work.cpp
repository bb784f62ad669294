// SPDX-License-Identifier: BSD-3-Clause
//
// See work.hpp.

#include "measure/harness/work.hpp"

#include <algorithm>
#include <limits>

namespace lanewise::measure {

double calibrate_work_s(const Clock& clock) {
    constexpr int trials = 9;
    constexpr std::uint64_t steps = 400'000;
    double least_s = std::numeric_limits<double>::infinity();
    for (int i = 0; i < trials; ++i) {
        const double begin_s = clock.now_s();
        work(steps);
        least_s = std::min(least_s, clock.now_s() - begin_s);
    }
    return least_s / static_cast<double>(steps);
}

}  // namespace lanewise::measure
