// SPDX-License-Identifier: BSD-3-Clause
//
// The C API of the wavefront on ranks.

#include <lanewise/wavefront_ranks.h>

#include <utility>

#include "wavefront/api/handle.hpp"
#include "wavefront/ranks/rank_run.hpp"

namespace {

using namespace lanewise::wavefront;
using lanewise::Failure;
using lanewise::Outcome;
using lanewise::Result;

// All ranks find the same, and none of them can talk to the others.
Outcome check_communicator(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) {
        return Failure{LW_ERR_ARGUMENT, "comm is MPI_COMM_NULL; pass one that this rank is in"};
    }
    int has_two_groups = 0;
    MPI_Comm_test_inter(comm, &has_two_groups);
    if (!has_two_groups) return lanewise::Done{};
    return Failure{LW_ERR_ARGUMENT,
                   "comm is an intercommunicator; merge its groups by MPI_Intercomm_merge"};
}

Outcome check_threads() {
    int provided = 0;
    MPI_Query_thread(&provided);
    if (provided >= MPI_THREAD_SERIALIZED) return lanewise::Done{};
    return Failure{LW_ERR_UNSUPPORTED,
                   "MPI was initialized for one thread, and halos are exchanged by another; call "
                   "MPI_Init_thread with MPI_THREAD_SERIALIZED"};
}

Result<MakeKernel> own_kernel(const lw_wavefront_kernel *kernel) {
    if (!kernel) return api::null_argument("kernel");
    return MakeKernel([kernel](const Store& part, std::int64_t first_row) {
        return api::kernel_from(*kernel, part, first_row);
    });
}

Result<MakeKernel> built_in_kernel(const char *name, const double *parameters, std::size_t count) {
    if (!name) return api::null_argument("name");
    if (count > 0 && !parameters) return api::null_argument("parameters");
    return MakeKernel([=](const Store& part, std::int64_t /*first_row*/) {
        return make_kernel_for(name, {parameters, parameters + count}, part.shape());
    });
}

Result<MakeKernel> kernel_of_parts() {
    return MakeKernel(
        [](const Store& part, std::int64_t /*first_row*/) { return kernel_of_run(part); });
}

// What a rank is asked to do, as far as it can be known before the ranks talk to each other.
struct Asked {
    MakeKernel make;
    RunOptions options;
};

Result<Asked> asked_of(const lw_wavefront& part, Result<MakeKernel> make,
                       const lw_wavefront_run_options *options,
                       const lw_wavefront_outcome *outcome) {
    if (!make) return make.failure();
    const auto threads = check_threads();
    if (!threads) return threads.failure();
    auto wanted = api::options_from(part, options, outcome);
    if (!wanted) return wanted.failure();
    return Asked{std::move(*make), std::move(*wanted)};
}

template <typename MakeGiven>
lw_status advance(MPI_Comm comm, lw_wavefront *part, const MakeGiven& make_given,
                  const lw_wavefront_run_options *options, lw_wavefront_outcome *outcome,
                  Begin begin) {
    const auto within = check_communicator(comm);
    if (!within)
        return part ? api::report_failure(part, within.failure()) : within.failure().status;
    if (!part) return agree(comm, api::null_argument("part")).failure().status;
    return api::guarded(part, [&]() -> Outcome {
        const api::Changing change(*part);
        // What is called by a run of the part has no ranks that do the same.
        const auto alone = change.check();
        if (!alone) return alone;
        const api::UnderWay call(*part);
        const auto asked = asked_of(*part, make_given(), options, outcome);
        const auto known = agree(comm, asked ? Outcome(lanewise::Done{}) : asked.failure());
        if (!known) return known;
        return api::give(run_part(comm, part->store, asked->make, asked->options, begin), outcome);
    });
}

}  // namespace

lw_status lw_wavefront_run_kernel_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                           const lw_wavefront_kernel *kernel,
                                           const lw_wavefront_run_options *options,
                                           lw_wavefront_outcome *outcome) {
    const auto given = [=] { return own_kernel(kernel); };
    return advance(comm, part, given, options, outcome, Begin::anew);
}

lw_status lw_wavefront_resume_kernel_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                              const lw_wavefront_kernel *kernel,
                                              const lw_wavefront_run_options *options,
                                              lw_wavefront_outcome *outcome) {
    const auto given = [=] { return own_kernel(kernel); };
    return advance(comm, part, given, options, outcome, Begin::where_it_was);
}

lw_status lw_wavefront_run_on_ranks(MPI_Comm comm, lw_wavefront *part, const char *name,
                                    const double *parameters, size_t count,
                                    const lw_wavefront_run_options *options,
                                    lw_wavefront_outcome *outcome) {
    const auto given = [=] { return built_in_kernel(name, parameters, count); };
    return advance(comm, part, given, options, outcome, Begin::anew);
}

lw_status lw_wavefront_resume_on_ranks(MPI_Comm comm, lw_wavefront *part,
                                       const lw_wavefront_run_options *options,
                                       lw_wavefront_outcome *outcome) {
    return advance(comm, part, kernel_of_parts, options, outcome, Begin::where_it_was);
}
