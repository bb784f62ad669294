// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of C that initialize MPI. A profile begins when they return.

#include <dlfcn.h>
#include <mpi.h>

#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/profile.hpp"

namespace {

template <typename Function>
Function next(const char *name, Function otherwise) {
    void *symbol = dlsym(RTLD_NEXT, name);
    return symbol ? reinterpret_cast<Function>(symbol) : otherwise;
}

int begun(int code) {
    if (code == MPI_SUCCESS) lanewise::tuned::begin_profile();
    return code;
}

}  // namespace

extern "C" LANEWISE_EXPORT int MPI_Init(int *count, char ***arguments) {
    static const auto own = next("MPI_Init", &PMPI_Init);
    return begun(own(count, arguments));
}

extern "C" LANEWISE_EXPORT int MPI_Init_thread(int *count, char ***arguments, int required,
                                               int *provided) {
    static const auto own = next("MPI_Init_thread", &PMPI_Init_thread);
    return begun(own(count, arguments, required, provided));
}
