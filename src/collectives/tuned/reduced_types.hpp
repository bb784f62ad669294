// SPDX-License-Identifier: BSD-3-Clause
//
// ReducedTypes: which datatypes the operators of the MPI take (MPI 4.1, section 6.9.2).

#pragma once

#include <mpi.h>

namespace lanewise::tuned {

/* Whether a predefined operator takes a predefined type. Characters count as integers, as MPIs have
   it; what is not known here is taken. */
bool takes(MPI_Op op, MPI_Datatype type);

}  // namespace lanewise::tuned
