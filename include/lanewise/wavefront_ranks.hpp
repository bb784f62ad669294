// SPDX-License-Identifier: BSD-3-Clause
//
// Wavefront on ranks in C++20: an update of <lanewise/wavefront.hpp> over the parts of a store, one
// part on each rank of an MPI job.
//
//     auto part = wavefront::store::open("part." + std::to_string(rank));
//     wavefront::run_on_ranks(MPI_COMM_WORLD, part, sor{1.9}, {.iterations = 500});
//
// <lanewise/wavefront_ranks.h> says what all ranks have to do alike.

#pragma once

#include <lanewise/wavefront_ranks.h>
#include <lanewise/wavefront.hpp>

namespace lanewise::wavefront {

/* Iterates over all parts, called by every rank of `comm`; throws `error`. A rank that ends by one
 * while others run ends the job by MPI_Abort. */
template <cell_update Update>
lw_wavefront_outcome run_on_ranks(MPI_Comm comm, store& part, const Update& update,
                                  const options& wanted, const char *name = "kernel") {
    return detail::run_kernel(part, update, wanted, name, [comm](auto *...arguments) {
        return lw_wavefront_run_kernel_on_ranks(comm, arguments...);
    });
}

/* Goes on with a run in which ranks were killed; `wanted.iterations` is not looked at. */
template <cell_update Update>
lw_wavefront_outcome resume_on_ranks(MPI_Comm comm, store& part, const Update& update,
                                     const options& wanted = {}, const char *name = "kernel") {
    return detail::run_kernel(part, update, wanted, name, [comm](auto *...arguments) {
        return lw_wavefront_resume_kernel_on_ranks(comm, arguments...);
    });
}

}  // namespace lanewise::wavefront
