// SPDX-License-Identifier: BSD-3-Clause

#include "sums/mpi/f90_types.hpp"

#include <array>

namespace lanewise::sums {
namespace {

int combiner_of(MPI_Datatype type) {
    int combiner = MPI_COMBINER_NAMED;
#ifdef LANEWISE_HAS_LARGE_COUNTS
    // MPICH aborts where the other function is asked about a type with large counts.
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count large_counts = 0;
    MPI_Count datatypes = 0;
    PMPI_Type_get_envelope_c(type, &integers, &addresses, &large_counts, &datatypes, &combiner);
#else
    int integers = 0;
    int addresses = 0;
    int datatypes = 0;
    PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
#endif
    return combiner;
}

}  // namespace

std::optional<F90Kind> f90_kind_of(MPI_Datatype type) {
    // To ask about it is an error of MPI_COMM_WORLD, where the program may not handle errors.
    if (type == MPI_DATATYPE_NULL) return std::nullopt;
    switch (combiner_of(type)) {
        case MPI_COMBINER_F90_REAL: return F90Kind::real;
        case MPI_COMBINER_F90_COMPLEX: return F90Kind::complex;
        case MPI_COMBINER_F90_INTEGER: return F90Kind::integer;
        default: return std::nullopt;
    }
}

int f90_digits_of(MPI_Datatype type) {
    std::array<int, 2> digits_and_range{MPI_UNDEFINED, MPI_UNDEFINED};
    MPI_Aint no_address = 0;
    MPI_Datatype no_type = MPI_DATATYPE_NULL;
    PMPI_Type_get_contents(type, static_cast<int>(digits_and_range.size()), 0, 0,
                           digits_and_range.data(), &no_address, &no_type);
    return digits_and_range[0];
}

}  // namespace lanewise::sums
