// SPDX-License-Identifier: BSD-3-Clause
//
// The benchmarks, one line per file, in the order in which they are listed.

#include "measure/benchmarks/benchmark.hpp"

#define LANEWISE_BENCHMARK_FILES(X)  \
    X(pingpong_benchmarks)           \
    X(pingping_benchmarks)           \
    X(sendrecv_benchmarks)           \
    X(exchange_benchmarks)           \
    X(streaming_benchmarks)          \
    X(bidirectional_benchmarks)      \
    X(message_rate_benchmarks)       \
    X(random_pairs_benchmarks)       \
    X(fan_benchmarks)                \
    X(one_sided_benchmarks)          \
    X(neighbourhood_benchmarks)      \
    X(persistent_benchmarks)         \
    X(partitioned_benchmarks)        \
    X(overlap_benchmarks)            \
    X(thread_pairs_benchmarks)       \
    X(shared_memory_ring_benchmarks) \
    /* the next one */

namespace lanewise::measure {

#define LANEWISE_DECLARE(make) Entries make();
LANEWISE_BENCHMARK_FILES(LANEWISE_DECLARE)
#undef LANEWISE_DECLARE

Entries benchmarks() {
    Entries all;
    const auto append = [&all](const Entries& entries) {
        all.insert(all.end(), entries.begin(), entries.end());
    };
#define LANEWISE_APPEND(make) append(make());
    LANEWISE_BENCHMARK_FILES(LANEWISE_APPEND)
#undef LANEWISE_APPEND
    return all;
}

}  // namespace lanewise::measure
