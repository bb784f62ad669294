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

#include <cstddef>
#include <string>

namespace lanewise::wavefront {
namespace detail {

/* Whether ranks can agree over a communicator; over another one the library refuses to run. */
inline bool can_agree(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return false;
    int has_two_groups = 0;
    MPI_Comm_test_inter(comm, &has_two_groups);
    return has_two_groups == 0;
}

/* Throws on all ranks what the first one throws: the others would wait for it. */
template <typename Update>
void check_update_on_ranks(MPI_Comm comm, const store& part, const char *name) {
    if (!can_agree(comm)) return;
    int own = 0;
    int ranks = 1;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &ranks);
    std::string sentence;
    int status = LW_OK;
    try {
        check_update<Update>(part, name);
    } catch (const error& refused) {
        sentence = refused.what();
        status = refused.status;
    }
    int first = status == LW_OK ? ranks : own;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == ranks) return;
    int said[2] = {status, static_cast<int>(sentence.size())};
    MPI_Bcast(said, 2, MPI_INT, first, comm);
    sentence.resize(static_cast<std::size_t>(said[1]));
    MPI_Bcast(sentence.data(), said[1], MPI_CHAR, first, comm);
    throw error(static_cast<lw_status>(said[0]), sentence);
}

}  // namespace detail

/* Iterates over all parts, called by every rank of `comm`; throws `error`. A rank that ends by one
 * while others run ends the job by MPI_Abort. */
template <cell_update Update>
lw_wavefront_outcome run_on_ranks(MPI_Comm comm, store& part, const Update& update,
                                  const options& wanted, const char *name = "kernel") {
    detail::check_update_on_ranks<Update>(comm, part, name);
    return detail::run_kernel(part, update, wanted, name, [comm](auto *...arguments) {
        return lw_wavefront_run_kernel_on_ranks(comm, arguments...);
    });
}

/* Goes on with a run in which ranks were killed; `wanted.iterations` is not looked at. */
template <cell_update Update>
lw_wavefront_outcome resume_on_ranks(MPI_Comm comm, store& part, const Update& update,
                                     const options& wanted = {}, const char *name = "kernel") {
    detail::check_update_on_ranks<Update>(comm, part, name);
    return detail::run_kernel(part, update, wanted, name, [comm](auto *...arguments) {
        return lw_wavefront_resume_kernel_on_ranks(comm, arguments...);
    });
}

}  // namespace lanewise::wavefront
