// SPDX-License-Identifier: BSD-3-Clause
//
// The kernels, one line a file.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {

Entries kernels() {
    using Make = Entries (*)();
    static constexpr Make all[] = {
        pingpong_kernels,
        pingping_kernels,
        sendrecv_kernels,
        exchange_kernels,
        streaming_kernels,
        bidirectional_kernels,
        message_rate_kernels,
        random_pairs_kernels,
        fan_kernels,
        one_sided_kernels,
        one_sided_pattern_kernels,
        one_sided_streaming_kernels,
        passive_kernels,
        neighbourhood_kernels,
        persistent_kernels,
        partitioned_kernels,
        overlap_kernels,
        thread_kernels,
    };
    Entries entries;
    for (const auto make : all) {
        const auto made = make();
        entries.insert(entries.end(), made.begin(), made.end());
    }
    return entries;
}

}  // namespace lanewise::measure
