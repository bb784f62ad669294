// SPDX-License-Identifier: BSD-3-Clause
//
// MPICH before 4.3 asks a request how it goes on when it is waited for or tested,
// but not in MPI_Request_get_status, in which a program may well wait for it.

#include <mpi.h>

#include "collectives/execute/progress.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/next_mpi.hpp"

namespace {

void ask() {
    using namespace lanewise;
    if (!tuned::active) return;
    if (collectives::progress_here() == collectives::Progress::when_asked) {
        collectives::poll_requests();
    }
}

}  // namespace

extern "C" LANEWISE_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag,
                                                      MPI_Status *status) {
    static const auto own =
        lanewise::tuned::next_function("MPI_Request_get_status", &PMPI_Request_get_status);
    ask();
    return own(request, flag, status);
}

/* `use mpi_f08` does not go through the function of C. */
extern "C" LANEWISE_EXPORT void mpi_request_get_status_f08_(void *request, void *flag, void *status,
                                                            MPI_Fint *error) {
    using Function = void (*)(void *, void *, void *, MPI_Fint *);
    static const auto own =
        lanewise::tuned::next_function<Function>("mpi_request_get_status_f08_", nullptr);
    ask();
    if (own) own(request, flag, status, error);
}
