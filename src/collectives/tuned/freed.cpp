// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of C that free operators and datatypes. What a nonblocking reduction still needs is
// freed with it, as MPI demands of its own.

#include <mpi.h>

#include "collectives/execute/held_handles.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/next_mpi.hpp"

using namespace lanewise;

extern "C" LANEWISE_EXPORT int MPI_Op_free(MPI_Op *op) {
    static const auto own = tuned::next_function("MPI_Op_free", &PMPI_Op_free);
    if (!tuned::active || !op || !collectives::is_freed_later<collectives::Operators>(*op)) {
        return own(op);
    }
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

extern "C" LANEWISE_EXPORT int MPI_Type_free(MPI_Datatype *type) {
    static const auto own = tuned::next_function("MPI_Type_free", &PMPI_Type_free);
    if (!tuned::active || !type || !collectives::is_freed_later<collectives::Datatypes>(*type)) {
        return own(type);
    }
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
