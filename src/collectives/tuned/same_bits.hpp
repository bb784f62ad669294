// SPDX-License-Identifier: BSD-3-Clause
//
// Same bits: reductions of a program as it is whose results do not depend on how they are made.
//
// SameBits::order   contributions are combined in the balanced bracketing in every element, by
//                   algorithms that declare it and for which the checker proves it; sums and
//                   products of floating-point numbers are computed in one way (sums/combine)
// SameBits::ranks   MPI_SUM and MPI_PROD of doubles, floats and their complex types are exact, and
//                   rounded once (execute/exact_call); everything else as with SameBits::order
//
// MPI_MAX and MPI_MIN of doubles and floats are those of sums/combine, which depend on nothing
// else. Integers and operators on bits have the same bits anyway. Operators of the program, and
// those of the MPI for types that sums/combine does not know, such as long double, are applied by
// the MPI in the balanced bracketing, with either level.

#pragma once

#include "collectives/execute/cached_call.hpp"
#include "collectives/profile/attribution.hpp"

namespace lanewise::tuned {

/* Changes a decision where the bits could differ. A persistent call is decided on as a nonblocking
   one; `form` is how it is called. */
void keep_bits(collectives::CachedCall& decided, const collectives::Call& call,
               collectives::SameBits wanted, profile::Form form);

/* Says once that a reduction was left to the MPI, where its bits may differ. */
void say_what_may_differ(const collectives::Call& call, profile::Form form);

/* How an operation is called. */
profile::Form form_of(collectives::Operation operation);

}  // namespace lanewise::tuned
