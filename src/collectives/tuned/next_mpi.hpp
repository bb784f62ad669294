// SPDX-License-Identifier: BSD-3-Clause
//
// NextMpi: the functions that calls are forwarded to. They belong to another interposing tool that
// was loaded after this library, or else to the MPI itself (PMPI_).

#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include "collectives/tuned/functions.hpp"

namespace lanewise::tuned {

struct NextMpi {
#define LANEWISE_POINTER(name, lower, ...)      \
    decltype(&PMPI_##name) name = &PMPI_##name; \
    decltype(&PMPI_I##lower) I##lower = &PMPI_I##lower;
    LANEWISE_FUNCTIONS(LANEWISE_POINTER)
#undef LANEWISE_POINTER
#ifdef LANEWISE_HAS_LARGE_COUNTS
#define LANEWISE_POINTER(name, lower, ...)                  \
    decltype(&PMPI_##name##_c) name##_c = &PMPI_##name##_c; \
    decltype(&PMPI_I##lower##_c) I##lower##_c = &PMPI_I##lower##_c;
    LANEWISE_COUNTED_FUNCTIONS(LANEWISE_POINTER)
#undef LANEWISE_POINTER
#endif
};

/* Set when the library is loaded and not changed later. */
extern constinit NextMpi next_mpi;

/* The same for a function that follows no rule; `otherwise` where no tool has it. */
template <typename Function>
Function next_function(const char *name, Function otherwise) {
    void *symbol = dlsym(RTLD_NEXT, name);
    return symbol ? reinterpret_cast<Function>(symbol) : otherwise;
}

}  // namespace lanewise::tuned
