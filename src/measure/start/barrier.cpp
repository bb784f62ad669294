// SPDX-License-Identifier: BSD-3-Clause
//
// Start by the harness's own dissemination barrier, once or twice. The second
// barrier of a double one begins with the ranks already close together.

#include "measure/start/start.hpp"

namespace lanewise::measure {

Starter barrier_start(const Bench& bench) {
    Starter starter;
    starter.wait = [&bench] {
        bench.harness().barrier();
        return true;
    };
    return starter;
}

Starter double_barrier_start(const Bench& bench) {
    Starter starter;
    starter.wait = [&bench] {
        bench.harness().barrier();
        bench.harness().barrier();
        return true;
    };
    return starter;
}

}  // namespace lanewise::measure
