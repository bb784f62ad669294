// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of C that initialize MPI. A process tells that it has this library before they
// begin; a profile begins when they return.

#include "collectives/tuned/initialize.hpp"

#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/next_mpi.hpp"
#include "collectives/tuned/profile.hpp"
#include "collectives/tuned/report.hpp"
#include "collectives/tuned/roll_call.hpp"

namespace {

int begun(int code) {
    if (code == MPI_SUCCESS) lanewise::tuned::begin_with_world();
    return code;
}

}  // namespace

extern "C" LANEWISE_EXPORT int MPI_Init(int *count, char ***arguments) {
    static const auto own = lanewise::tuned::next_function("MPI_Init", &PMPI_Init);
    lanewise::tuned::report_presence();
    return begun(own(count, arguments));
}

extern "C" LANEWISE_EXPORT int MPI_Init_thread(int *count, char ***arguments, int required,
                                               int *provided) {
    static const auto own = lanewise::tuned::next_function("MPI_Init_thread", &PMPI_Init_thread);
    lanewise::tuned::report_presence();
    return begun(own(count, arguments, required, provided));
}

#ifdef LANEWISE_HAS_SESSIONS
void lanewise::tuned::begin_with_session(MPI_Session session) {
    MPI_Group world = MPI_GROUP_NULL;
    if (PMPI_Group_from_session_pset(session, "mpi://WORLD", &world) != MPI_SUCCESS) return;
    answer_for_all(world);
    if (reports() && rank_among_all() == 0) prepare_report_of_sessions();
}

extern "C" LANEWISE_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler handler,
                                                MPI_Session *session) {
    static const auto own = lanewise::tuned::next_function("MPI_Session_init", &PMPI_Session_init);
    lanewise::tuned::report_presence();
    const int code = own(info, handler, session);
    if (code == MPI_SUCCESS) lanewise::tuned::begin_with_session(*session);
    return code;
}
#endif
