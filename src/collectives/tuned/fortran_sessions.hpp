// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of Fortran that initialize a session (initialize.cpp) and make a communicator of a
// group of it (communicators.cpp). They pass every argument by reference, the error code last; the
// length of a string follows by value.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <string_view>

#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/communicator_ids.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/initialize.hpp"
#include "collectives/tuned/roll_call.hpp"

namespace lanewise::tuned {

/* Fortran fills a string up with blanks. */
inline std::string_view without_blanks(const char *string, std::size_t length) {
    const std::string_view whole(string, length);
    return whole.substr(0, whole.find_last_not_of(' ') + 1);
}

}  // namespace lanewise::tuned

/* These define `symbol`. The including file says where the next definition is, by `next_fortran`.
 */
#define LANEWISE_DEFINE_SESSION_INIT(symbol)                                                     \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *info, MPI_Fint *handler, MPI_Fint *session, \
                                           MPI_Fint *error) {                                    \
        using namespace lanewise::tuned;                                                         \
        using Function = void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *);               \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));               \
        MPI_Fint code = MPI_SUCCESS;                                                             \
        report_presence();                                                                       \
        own(info, handler, session, &code);                                                      \
        if (code == MPI_SUCCESS) begin_with_session(PMPI_Session_f2c(*session));                 \
        if (error) *error = code;                                                                \
    }

#define LANEWISE_DEFINE_MAKING_FROM_GROUP(symbol)                                                  \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *group, const char *tag, MPI_Fint *info,       \
                                           MPI_Fint *handler, MPI_Fint *new_comm, MPI_Fint *error, \
                                           std::size_t length) {                                   \
        using namespace lanewise::tuned;                                                           \
        using Function = void (*)(MPI_Fint *, const char *, MPI_Fint *, MPI_Fint *, MPI_Fint *,    \
                                  MPI_Fint *, std::size_t);                                        \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));                 \
        MPI_Fint code = MPI_SUCCESS;                                                               \
        own(group, tag, info, handler, new_comm, &code, length);                                   \
        if (code == MPI_SUCCESS) {                                                                 \
            const auto made = PMPI_Comm_f2c(*new_comm);                                            \
            give_id(made, made_by_group(without_blanks(tag, length)));                             \
            compare_early(made);                                                                   \
        }                                                                                          \
        if (error) *error = code;                                                                  \
    }
