// SPDX-License-Identifier: BSD-3-Clause
//
// Post-work-wait (COMB; Sandia's mpi_overhead): two ranks post a receive and a
// send, work without a call to the MPI, and wait. While the work is shorter than the
// transfer it adds nothing; beyond that the time grows with it. The point where the
// two lines meet gives the overhead of the host, and the time of the wait after much
// work shows whether a transfer progresses without a call to the MPI.

#pragma once

#include <vector>

#include "measure/bench.hpp"

namespace lanewise::measure {

/* The amounts of work that are measured at each size. */
constexpr std::size_t post_work_wait_amounts = 10;

/* The values of one amount of work, one per repetition, each of the slower rank. */
struct PostWorkWaitPoint {
    std::uint64_t message_bytes = 0;
    double over_base = 0.0;      /* the amount asked for, over the time without work */
    std::vector<double> alone_s; /* the work without messages */
    std::vector<double> loop_s;  /* post, work and wait */
    std::vector<double> post_s;
    std::vector<double> wait_s;
};

struct PostWorkWaitPlan {
    std::uint64_t message_bytes = 100'000;
    std::size_t repetitions = 10;
    bool validate = false; /* compare what arrived with what was sent, at the end */
};

/* All amounts of work for one size, none first. Collective; ranks 0 and 1 take part. */
Result<std::vector<PostWorkWaitPoint>> measure_post_work_wait(Bench& bench,
                                                              const PostWorkWaitPlan& plan);

}  // namespace lanewise::measure
