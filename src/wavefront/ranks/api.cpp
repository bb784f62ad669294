// SPDX-License-Identifier: BSD-3-Clause
//
// The C API of the wavefront on ranks.

#include <lanewise/wavefront_ranks.h>

#include "wavefront/api/handle.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace {

using namespace lanewise::wavefront;
using lanewise::Failure;
using lanewise::Outcome;

Outcome check_threads() {
    int provided = 0;
    MPI_Query_thread(&provided);
    if (provided >= MPI_THREAD_SERIALIZED) return lanewise::Done{};
    return Failure{LW_ERR_UNSUPPORTED,
                   "MPI was initialized for one thread, and halos are exchanged by another; call "
                   "MPI_Init_thread with MPI_THREAD_SERIALIZED"};
}

lanewise::Result<RunOptions> options_given(const lw_wavefront& part,
                                           const lw_wavefront_kernel *kernel,
                                           const lw_wavefront_run_options *options,
                                           const lw_wavefront_outcome *outcome) {
    if (!kernel) return api::null_argument("kernel");
    const auto threads = check_threads();
    if (!threads) return threads.failure();
    return api::options_from(part, options, outcome);
}

lw_status advance(MPI_Comm comm, lw_wavefront *part, const lw_wavefront_kernel *kernel,
                  const lw_wavefront_run_options *options, lw_wavefront_outcome *outcome,
                  Begin begin) {
    if (!part) return agree(comm, api::null_argument("part")).failure().status;
    return api::guarded(part, [&]() -> Outcome {
        const api::Changing change(*part);
        // What is called by a run of the part has no ranks that do the same.
        const auto alone = change.check();
        if (!alone) return alone;
        const api::UnderWay call(*part);
        const auto wanted = options_given(*part, kernel, options, outcome);
        const auto known = agree(comm, wanted ? Outcome(lanewise::Done{}) : wanted.failure());
        if (!known) return known;
        const auto make = [kernel](const Store& store, std::int64_t first_row) {
            return api::kernel_from(*kernel, store, first_row);
        };
        return api::give(run_part(comm, part->store, make, *wanted, begin), outcome);
    });
}

}  // namespace

lw_status lw_wavefront_run_kernel_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                           const lw_wavefront_kernel *kernel,
                                           const lw_wavefront_run_options *options,
                                           lw_wavefront_outcome *outcome) {
    return advance(comm, part, kernel, options, outcome, Begin::anew);
}

lw_status lw_wavefront_resume_kernel_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                              const lw_wavefront_kernel *kernel,
                                              const lw_wavefront_run_options *options,
                                              lw_wavefront_outcome *outcome) {
    return advance(comm, part, kernel, options, outcome, Begin::where_it_was);
}
