// SPDX-License-Identifier: BSD-3-Clause
//
// Start by the harness's own dissemination barrier, once or twice. The second
// barrier of a double one begins with the ranks already close together.

#include "measure/start/start.hpp"

namespace lanewise::measure {
namespace {

Starter start_by_barrier(const Bench& bench) {
    Starter starter;
    starter.wait = [&bench] {
        bench.harness().barrier();
        return true;
    };
    return starter;
}

Starter start_by_two_barriers(const Bench& bench) {
    Starter starter;
    starter.wait = [&bench] {
        bench.harness().barrier();
        bench.harness().barrier();
        return true;
    };
    return starter;
}

}  // namespace

extern const StartMethod barrier_start{
    .name = "barrier",
    .needs_global_clock = false,
    .make = start_by_barrier,
};

extern const StartMethod double_barrier_start{
    .name = "double-barrier",
    .needs_global_clock = false,
    .make = start_by_two_barriers,
};

}  // namespace lanewise::measure
