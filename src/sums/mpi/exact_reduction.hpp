// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions by exact sums: what a rank gets depends neither on the order in which the MPI adds,
// nor on the number of ranks that the addends are dealt among.
//
// Up to some tens of ranks the numbers themselves travel: to everybody where they are few, else
// each rank gets a share of the vector from all others, and what it makes of it goes to all. It
// adds with add_to_nearest. Among more ranks, they first agree on windows (window.hpp), by a
// reduction of the largest of small integers; then integers are added by the MPI's own reduction,
// and rounded. Both give the number nearest to the exact sum, so it does not matter which way is
// taken.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>

#include "sums/combine.hpp"
#include "sums/exact_sum.hpp"

namespace lanewise::sums {

/* What a predefined type of C or Fortran holds; none where it is no number of these formats. */
std::optional<Numbers> numbers_of(MPI_Datatype type);

/* An error code of MPI, the same as MPI_Allreduce or MPI_Reduce would return; no exceptions but
   std::bad_alloc. MPI_IN_PLACE is understood. `count` is of elements. */
int exact_allreduce(const void *send, void *receive, std::int64_t count, Numbers numbers,
                    MPI_Comm comm);
int exact_reduce(const void *send, void *receive, std::int64_t count, Numbers numbers, int root,
                 MPI_Comm comm);

/* As MPI_Reduce_scatter: the own one of blocks of counts[0], counts[1], ... elements. */
int exact_reduce_scatter(const void *send, void *receive, std::span<const std::int64_t> counts,
                         Numbers numbers, MPI_Comm comm);

/* How the own sums and products of these types are computed; null: by the MPI. */
Combine combine_of(MPI_Op op, MPI_Datatype type);

/* Among how many ranks numbers travel; for tests, which the others follow. */
void set_few_ranks(int ranks);

/* Replaces the sum of each rank by that of all ranks. */
int add_over_ranks(ExactSum& sum, MPI_Comm comm);

}  // namespace lanewise::sums
