// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of C that ask whether requests are complete and leave them as they are. MPICH
// before 4.3 asks a request how it goes on when it is waited for or tested, but not in these, in
// which a program may well wait for it.

#include <mpi.h>

#include <vector>

#include "collectives/execute/progress.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/next_mpi.hpp"
#include "collectives/tuned/persistent.hpp"

namespace {

using lanewise::tuned::next_function;
using ScopedSubstitution = lanewise::tuned::ScopedSubstitution<lanewise::tuned::RequestsOfC>;

}  // namespace

extern "C" LANEWISE_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag,
                                                      MPI_Status *status) {
    static const auto own = next_function("MPI_Request_get_status", &PMPI_Request_get_status);
    lanewise::tuned::go_on_when_asked();
    const ScopedSubstitution here(1, &request);
    return own(request, flag, status);
}

#ifdef LANEWISE_HAS_STATUS_OF_MANY
namespace {

template <typename Function>
struct ArrayOf;
template <typename Array, typename... Rest>
struct ArrayOf<int (*)(int, Array, Rest...)> {
    using Type = Array;
};

/* The standard takes these arrays as constant, and MPICH 4.2 did not. */
using Requests = ArrayOf<decltype(&PMPI_Request_get_status_all)>::Type;

/* The array is not to be written to. */
template <typename Go>
int ask_about(int count, Requests requests, const Go& go) {
    lanewise::tuned::go_on_when_asked();
    if (lanewise::tuned::started_requests.load(std::memory_order_relaxed) == 0 || count <= 0 ||
        !requests) {
        return go(requests);
    }
    std::vector<MPI_Request> copy(requests, requests + count);
    const ScopedSubstitution here(count, copy.data());
    return go(copy.data());
}

}  // namespace

extern "C" LANEWISE_EXPORT int MPI_Request_get_status_all(int count, Requests requests, int *flag,
                                                          MPI_Status statuses[]) {
    static const auto own =
        next_function("MPI_Request_get_status_all", &PMPI_Request_get_status_all);
    return ask_about(count, requests,
                     [&](Requests first) { return own(count, first, flag, statuses); });
}

extern "C" LANEWISE_EXPORT int MPI_Request_get_status_any(int count, Requests requests, int *index,
                                                          int *flag, MPI_Status *status) {
    static const auto own =
        next_function("MPI_Request_get_status_any", &PMPI_Request_get_status_any);
    return ask_about(count, requests,
                     [&](Requests first) { return own(count, first, index, flag, status); });
}

extern "C" LANEWISE_EXPORT int MPI_Request_get_status_some(int count, Requests requests,
                                                           int *done_count, int indices[],
                                                           MPI_Status statuses[]) {
    static const auto own =
        next_function("MPI_Request_get_status_some", &PMPI_Request_get_status_some);
    return ask_about(count, requests, [&](Requests first) {
        return own(count, first, done_count, indices, statuses);
    });
}
#endif

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40300000
extern "C" LANEWISE_EXPORT int MPIX_Request_is_complete(MPI_Request request) {
    static const auto own = next_function("MPIX_Request_is_complete", &PMPIX_Request_is_complete);
    const ScopedSubstitution here(1, &request);
    return own(request);
}
#endif
