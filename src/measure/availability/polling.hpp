// SPDX-License-Identifier: BSD-3-Clause
//
// The polling method of COMB (Lawry, Wilson, Maccabe and Brightwell, 2002;
// InfiniPath and XD1 2006, section 3 and Fig. 10): two ranks work, poll at intervals
// for messages that have arrived, and send one back for each. Availability is the
// time of the work alone over the time that it took; the bandwidth is that of the
// messages meanwhile. A short polling interval favours the network, a long one the
// processor.

#pragma once

#include <vector>

#include "measure/bench.hpp"

namespace lanewise::measure {

struct PollingPlan {
    std::uint64_t message_bytes = 100'000; /* as in InfiniPath and XD1 2006, Fig. 10 */
    double interval_s = 1e-4;              /* of work between two polls */
    double work_s = 0.02;                  /* of one repetition */
    int depth = 4;                         /* messages in flight in each direction */
    std::size_t repetitions = 10;
    bool validate = false; /* compare what arrived with what was sent, after each repetition */
};

/* One value per repetition, of the rank with the worse value. */
struct Polled {
    std::vector<double> availability;
    std::vector<double> rate_bytes_per_s; /* both directions together */
};

/* Collective over the bench's communicator: ranks 0 and 1 take part, the others wait. */
Result<Polled> measure_polling(Bench& bench, const PollingPlan& plan);

}  // namespace lanewise::measure
