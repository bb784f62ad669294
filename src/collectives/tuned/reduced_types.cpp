// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/reduced_types.hpp"

#include <cstdint>

#include "collectives/execute/datatype.hpp"
#include "sums/mpi/exact_reduction.hpp"
#include "sums/mpi/f90_types.hpp"

namespace lanewise::tuned {
namespace {

using collectives::is_one_of;

enum class Kind : std::uint8_t { arithmetic, extreme, logical, bitwise, locating };

Kind kind_of(MPI_Op op) {
    if (op == MPI_MAXLOC || op == MPI_MINLOC) return Kind::locating;
    if (op == MPI_MAX || op == MPI_MIN) return Kind::extreme;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR) return Kind::logical;
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR) return Kind::bitwise;
    return Kind::arithmetic;
}

/* A value and its place. */
bool is_pair(MPI_Datatype type) {
    const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT,        MPI_LONG_INT,
                                  MPI_2INT,      MPI_SHORT_INT,         MPI_LONG_DOUBLE_INT,
                                  MPI_2REAL,     MPI_2DOUBLE_PRECISION, MPI_2INTEGER};
    return is_one_of(type, pairs);
}

bool is_logical(MPI_Datatype type) {
    const MPI_Datatype logicals[] = {MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL};
    return is_one_of(type, logicals);
}

bool is_fortran_integer(MPI_Datatype type) {
    const MPI_Datatype integers[] = {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4,
                                     MPI_INTEGER8};
    return is_one_of(type, integers) || sums::f90_kind_of(type) == sums::F90Kind::integer;
}

bool is_complex(MPI_Datatype type) {
    if (const auto numbers = sums::numbers_of(type)) return numbers->per_element == 2;
    const MPI_Datatype longer[] = {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX,
                                   MPI_COMPLEX32, MPI_COMPLEX, MPI_DOUBLE_COMPLEX};
    return is_one_of(type, longer) || sums::f90_kind_of(type) == sums::F90Kind::complex;
}

bool is_real(MPI_Datatype type) {
    if (const auto numbers = sums::numbers_of(type)) return numbers->per_element == 1;
    const MPI_Datatype longer[] = {MPI_LONG_DOUBLE, MPI_REAL16, MPI_REAL, MPI_DOUBLE_PRECISION};
    return is_one_of(type, longer) || sums::f90_kind_of(type) == sums::F90Kind::real;
}

}  // namespace

bool takes(MPI_Op op, MPI_Datatype type) {
    const auto kind = kind_of(op);
    if (is_pair(type) || kind == Kind::locating) return is_pair(type) && kind == Kind::locating;
    if (type == MPI_PACKED || type == MPI_WCHAR || type == MPI_CHARACTER) return false;
    if (type == MPI_BYTE) return kind == Kind::bitwise;
    if (is_logical(type)) return kind == Kind::logical;
    if (is_fortran_integer(type)) return kind != Kind::logical;
    if (is_complex(type)) return kind == Kind::arithmetic;
    return !is_real(type) || kind == Kind::arithmetic || kind == Kind::extreme;
}

}  // namespace lanewise::tuned
