// SPDX-License-Identifier: BSD-3-Clause
//
// Pass: every strip goes through memory once, while K waves work on those inside.
//
// Where the store's layout is not the one that the kernel works on, a strip is
// converted once after it is read and once before it is written.
//
// The calling thread moves strips: it reads as far ahead as the ring of buffers allows,
// verifies each strip's checksum, and writes a strip behind the last wave. It shares
// only two counters with the compute threads.

#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/layout/borders.hpp"
#include "wavefront/plan/plan.hpp"
#include "wavefront/run/halo_exchange.hpp"
#include "wavefront/stop.hpp"
#include "wavefront/store/in_flight.hpp"
#include "wavefront/store/memory.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

enum class Finite { assumed, checked };

struct PassProgress {
    std::uint64_t strips_done = 0;
    std::uint64_t strip_count = 0;
    std::uint64_t waves = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
};

struct PassRequest {
    const Store *store = nullptr;
    const Kernel *kernel = nullptr;
    DiskQueue *queue = nullptr;
    const Memory *ring = nullptr; /* for the Slots of all buffers and held strips */
    Placement placement = Placement::whole_blocks;
    std::uint64_t buffers = 0;
    std::uint64_t rows_per_block = 8;
    std::uint64_t waves = 1;
    std::uint32_t threads = 1;
    Tiling tiling;
    HaloExchange *halo_exchange = nullptr;
    bool measuring = false;
    std::vector<Direction> directions{}; /* of each wave */
    std::uint64_t first_iteration = 0;   /* of the run, from 0 */
    Borders borders{};                   /* with periodic rows there is one wave */
    /* Strips that the pass before, which went the other way, left in the ring as they are on disk.
     */
    std::uint64_t kept_strips = 0;
    Finite finite = Finite::assumed;
    std::uint64_t first_row = 0; /* of a part, in the whole store */
    std::function<void(const PassProgress& progress)> progress{}; /* may be empty */
    const std::atomic<bool> *stop = nullptr;                      /* once true, the pass fails */
};

struct PassResult {
    std::vector<double> changes;                  /* of each wave, where measured */
    std::vector<std::vector<std::uint64_t>> sums; /* of each data matrix, by strip */
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    /* Strips at its end that lie in the ring as they are on disk; none where they are converted, or
     * have borders that are set. */
    std::uint64_t strips_left = 0;
    double working_share = 0.0; /* of the time of the threads of waves */
};

/* Writes the next generation of the data and syncs it; the store's manifest is not touched. */
Result<PassResult> run_pass(const PassRequest& request);

/* As run_pass; `parallelogram_vectors` is the plan's, and the ring holds what parallelogram_memory
 * says. `place` is that of a part. */
Result<PassResult> run_parallelogram_pass(const PassRequest& request,
                                          std::uint64_t parallelogram_vectors,
                                          const ParallelogramPlace& place);

}  // namespace lanewise::wavefront
