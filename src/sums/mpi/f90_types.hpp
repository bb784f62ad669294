// SPDX-License-Identifier: BSD-3-Clause
//
// The datatypes of MPI_Type_create_f90_real, _complex and _integer: numbers of a kind that a
// Fortran program chose by precision and range. They are types of the MPI, which its own operators
// take, but their handles are not known beforehand.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

namespace lanewise::sums {

enum class F90Kind : std::uint8_t { real, complex, integer };

/* None: the type was made in another way, or is null. */
std::optional<F90Kind> f90_kind_of(MPI_Datatype type);

/* The decimal digits that were asked for; MPI_UNDEFINED where they were not. `type` is real or
   complex. */
int f90_digits_of(MPI_Datatype type);

}  // namespace lanewise::sums
