// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/next_mpi.hpp"

#include <dlfcn.h>

namespace lanewise::tuned {
namespace {

template <typename Function>
void find(Function& function, const char *name) {
    if (void *symbol = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(symbol);
}

}  // namespace

constinit NextMpi next_mpi;

void find_next() {
#define LANEWISE_FIND(name, lower, ...) \
    find(next_mpi.name, "MPI_" #name);  \
    find(next_mpi.I##lower, "MPI_I" #lower);
    LANEWISE_FUNCTIONS(LANEWISE_FIND)
#undef LANEWISE_FIND
#if MPI_VERSION >= 4
#define LANEWISE_FIND(name, lower, ...)         \
    find(next_mpi.name##_c, "MPI_" #name "_c"); \
    find(next_mpi.I##lower##_c, "MPI_I" #lower "_c");
    LANEWISE_COUNTED_FUNCTIONS(LANEWISE_FIND)
#undef LANEWISE_FIND
#endif
}

}  // namespace lanewise::tuned
