// SPDX-License-Identifier: BSD-3-Clause
//
// See admission.hpp.

#include "measure/availability/admission.hpp"

#include <climits>

#include "base/sizes.hpp"
#include "measure/harness/work.hpp"

namespace lanewise::measure {

Outcome admit_availability(const Bench& bench, const std::string& method,
                           std::uint64_t message_bytes, std::uint64_t buffers) {
    if (bench.harness().size() < 2)
        return Failure{LW_ERR_ARGUMENT, method + " needs 2 ranks, not 1"};
    if (!work_takes_time)
        return Failure{LW_ERR_UNSUPPORTED,
                       "work takes no time where time is simulated; measure on real ranks"};
    const std::string what = method + " of " + format_size(message_bytes) + " bytes";
    if (message_bytes > INT_MAX)
        return Failure{LW_ERR_LIMIT,
                       what + " exceeds INT_MAX bytes (2 GiB less 1 byte); choose a smaller size"};
    const double each_bytes =
        mapped_bytes(static_cast<double>(message_bytes), bench.options().buffers);
    return bench.admit_memory(what, static_cast<double>(buffers) * each_bytes);
}

}  // namespace lanewise::measure
