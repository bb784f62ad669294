// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions by exact sums and products: what a rank gets depends neither on the order in which the
// MPI combines, nor on the number of ranks that the numbers are dealt among.
//
// Up to some tens of ranks the numbers themselves travel: to everybody where they are few, else
// each rank gets a share of the vector from all others, and what it makes of it goes to all. It
// adds with add_to_nearest. Among more ranks, they first agree on windows (window.hpp), by a
// reduction of the largest of small integers; then integers are added by the MPI's own reduction,
// and rounded. Both give the number nearest to the exact sum, so it does not matter which way is
// taken. The factors of a product always travel themselves, and each rank multiplies its share with
// multiply_to_nearest.
//
// A rank that lacks memory fails with MPI_ERR_NO_MEM, and all others of the call with it.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>

#include "sums/combine.hpp"
#include "sums/exact_sum.hpp"
#include "sums/long_product.hpp"

namespace lanewise::sums {

/* What a predefined type of C, C++ or Fortran holds; none where it is no number of these formats.
 */
std::optional<Numbers> numbers_of(MPI_Datatype type);

/* An error code of MPI, the same as MPI_Allreduce or MPI_Reduce would return. MPI_IN_PLACE is
   understood. `count` is of elements. */
int exact_allreduce(const void *send, void *receive, std::int64_t count, Numbers numbers,
                    Combining combining, MPI_Comm comm);
int exact_reduce(const void *send, void *receive, std::int64_t count, Numbers numbers,
                 Combining combining, int root, MPI_Comm comm);

/* The elements of a vector that is scattered, and which of them a rank gets. */
struct Scattered {
    std::int64_t before = 0;
    std::int64_t own = 0;
    std::int64_t all = 0;
};

/* As MPI_Reduce_scatter. */
int exact_reduce_scatter(const void *send, void *receive, const Scattered& blocks, Numbers numbers,
                         Combining combining, MPI_Comm comm);

/* The same of vectors that are all here. `result` may be one of them. Local; fails where there is
   no memory for it. */
int combine_exactly(std::span<const void *const> vectors, std::int64_t count, Numbers numbers,
                    Combining combining, void *result);

/* What an operator of the MPI does with numbers of a type; none where it is another one. */
std::optional<Combining> combining_of(MPI_Op op, MPI_Datatype type);

/* How it does that for two vectors; null: by the MPI. */
Combine combine_of(MPI_Op op, MPI_Datatype type);

/* For tests: up to how many ranks the numbers themselves travel, so that few ranks can take the way
   of many. */
void set_few_ranks_for_tests(int ranks);

/* Replaces the sum of each rank by that of all ranks. */
int add_over_ranks(ExactSum& sum, MPI_Comm comm);
/* Likewise the product, whose bounds all have as many words. May throw std::bad_alloc when no rank
   waits any more. */
int multiply_over_ranks(LongProduct& product, MPI_Comm comm);

}  // namespace lanewise::sums
