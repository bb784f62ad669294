// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of Fortran that make communicators (communicators.cpp) and free operators and
// datatypes (freed.cpp). All of them pass every argument by reference, the error code last.

#pragma once

#include <mpi.h>

#include "collectives/execute/held_handles.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/communicator_ids.hpp"
#include "collectives/tuned/duplicates.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"

/* The name in small and in capital letters, what tells the new communicator from others (Origin),
   and the arguments before it. */
#define LANEWISE_MAKING(X)                                                                         \
    X(comm_dup, COMM_DUP, made_of(comm), comm)                                                     \
    X(comm_dup_with_info, COMM_DUP_WITH_INFO, made_of(comm), comm, info)                           \
    X(comm_split, COMM_SPLIT, made_of(comm), comm, color, key)                                     \
    X(comm_split_type, COMM_SPLIT_TYPE, made_of(comm), comm, type, key, info)                      \
    X(comm_create, COMM_CREATE, made_of(comm), comm, group)                                        \
    X(comm_create_group, COMM_CREATE_GROUP, made_by_group(tag), comm, group, tag)                  \
    X(intercomm_merge, INTERCOMM_MERGE, made_of(comm), comm, high)                                 \
    X(cart_create, CART_CREATE, made_of(comm), comm, count, dimensions, periods, reorder)          \
    X(cart_sub, CART_SUB, made_of(comm), comm, remaining)                                          \
    X(graph_create, GRAPH_CREATE, made_of(comm), comm, count, index, edges, reorder)               \
    X(dist_graph_create, DIST_GRAPH_CREATE, made_of(comm), comm, count, sources, degrees, targets, \
      weights, info, reorder)                                                                      \
    X(dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT, made_of(comm), comm, in, sources,    \
      in_weights, out, targets, out_weights, info, reorder)

/* The same of those that make one without waiting. */
#define LANEWISE_DUPLICATING(X)   \
    X(comm_idup, COMM_IDUP, comm) \
    X(comm_idup_with_info, COMM_IDUP_WITH_INFO, comm, info)

/* The name in small and in capital letters, how MPI's functions for handles begin, what the handle
   is, and the handle of none. */
#define LANEWISE_FREEING(X)                         \
    X(op_free, OP_FREE, Op, Operators, MPI_OP_NULL) \
    X(type_free, TYPE_FREE, Type, Datatypes, MPI_DATATYPE_NULL)

/* These define `symbol`. The including file says where the next definition is, by `next_fortran`,
   and has the macros for parameters of any type. */
#define LANEWISE_DEFINE_MAKING(symbol, origin, ...)                                         \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),  \
                                           MPI_Fint *new_comm, MPI_Fint *error) {           \
        using namespace lanewise::tuned;                                                    \
        using Function =                                                                    \
            void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *, MPI_Fint *); \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));          \
        MPI_Fint code = MPI_SUCCESS;                                                        \
        /* Before the call: a program may name one variable for both communicators. */      \
        const auto from = origin;                                                           \
        own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), new_comm, &code);                \
        if (code == MPI_SUCCESS) {                                                          \
            const auto made = PMPI_Comm_f2c(*new_comm);                                     \
            give_id(made, from);                                                            \
            compare_early(made);                                                            \
        }                                                                                   \
        if (error) *error = code;                                                           \
    }

#define LANEWISE_DEFINE_DUPLICATING(symbol, ...)                                            \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),  \
                                           MPI_Fint *new_comm, MPI_Fint *request,           \
                                           MPI_Fint *error) {                               \
        using namespace lanewise::tuned;                                                    \
        using Function = void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *, \
                                  MPI_Fint *, MPI_Fint *);                                  \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));          \
        MPI_Comm made = MPI_COMM_NULL;                                                      \
        MPI_Request later = MPI_REQUEST_NULL;                                               \
        const auto idup = [&](MPI_Comm *to, MPI_Request *until) {                           \
            MPI_Fint code = MPI_SUCCESS;                                                    \
            own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), new_comm, request, &code);   \
            if (code == MPI_SUCCESS) *to = PMPI_Comm_f2c(*new_comm);                        \
            if (code == MPI_SUCCESS) *until = PMPI_Request_f2c(*request);                   \
            return int{code};                                                               \
        };                                                                                  \
        const auto original = PMPI_Comm_f2c(*static_cast<const MPI_Fint *>(comm));          \
        const int code = duplicate_later(original, &made, &later, idup);                    \
        if (code == MPI_SUCCESS) *request = PMPI_Request_c2f(later);                        \
        if (error) *error = code;                                                           \
    }

#define LANEWISE_DEFINE_FREEING(symbol, object, kind, null)                               \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *handle, MPI_Fint *error) {           \
        using namespace lanewise;                                                         \
        using Function = void (*)(MPI_Fint *, MPI_Fint *);                                \
        static const auto own = reinterpret_cast<Function>(tuned::next_fortran(#symbol)); \
        const auto freed = PMPI_##object##_f2c(*handle);                                  \
        if (!tuned::active || !collectives::is_freed_later<collectives::kind>(freed)) {   \
            return own(handle, error);                                                    \
        }                                                                                 \
        *handle = PMPI_##object##_c2f(null);                                              \
        if (error) *error = MPI_SUCCESS;                                                  \
    }
