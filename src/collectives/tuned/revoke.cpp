// SPDX-License-Identifier: BSD-3-Clause
//
// Revoke: MPIX_Comm_revoke of the User-Level Failure Mitigation (W. Bland et al., IJHPCA 27(3),
// 2013). A program revokes a communicator so that ranks which wait there return with an error.
// Ranks in an intercepted call wait on the private communicator, so that one is revoked first.

#include <mpi.h>

#if defined(OPEN_MPI) && defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#include <mpi-ext.h>
#endif

#if defined(OMPI_HAVE_MPI_EXT_FTMPI) || defined(MPICH_VERSION)

#include <dlfcn.h>

#include "collectives/execute/communicator_state.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"

namespace lanewise::tuned {
namespace {

using Revoke = int (*)(MPI_Comm);

Revoke next_revoke() {
    void *symbol = dlsym(RTLD_NEXT, "MPIX_Comm_revoke");
    if (!symbol) symbol = dlsym(RTLD_DEFAULT, "PMPIX_Comm_revoke");
    return reinterpret_cast<Revoke>(symbol);
}

int revoke(MPI_Comm comm) {
    static const auto own = next_revoke();
    if (!own) return MPI_ERR_UNSUPPORTED_OPERATION;
    const bool is_asked = active && comm != MPI_COMM_NULL;
    const auto *state = is_asked ? collectives::known_state_of(comm) : nullptr;
    if (state && state->duplicate != MPI_COMM_NULL) own(state->duplicate);
    return own(comm);
}

}  // namespace
}  // namespace lanewise::tuned

extern "C" LANEWISE_EXPORT int MPIX_Comm_revoke(MPI_Comm comm) {
    return lanewise::tuned::revoke(comm);
}

#if defined(OMPI_HAVE_MPI_EXT_FTMPI)
/* Fortran, which under Open MPI does not go through the functions of C. */
#define LANEWISE_DEFINE_REVOKE(symbol)                                              \
    extern "C" LANEWISE_EXPORT void symbol(const MPI_Fint *comm, MPI_Fint *error) { \
        const int code = lanewise::tuned::revoke(PMPI_Comm_f2c(*comm));             \
        if (error) *error = code;                                                   \
    }
LANEWISE_DEFINE_REVOKE(mpix_comm_revoke)
LANEWISE_DEFINE_REVOKE(mpix_comm_revoke_)
LANEWISE_DEFINE_REVOKE(mpix_comm_revoke__)
LANEWISE_DEFINE_REVOKE(MPIX_COMM_REVOKE)
LANEWISE_DEFINE_REVOKE(mpix_comm_revoke_f08_)
#endif

#endif
