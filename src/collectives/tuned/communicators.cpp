// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of C that make communicators. Where reductions shall have the same bits, the ranks
// of a new communicator compare their settings while it is made, when all of them are there: a
// nonblocking reduction must wait for nobody, and may be the first call on it. Where calls are
// logged, a new communicator gets the number that all its ranks know it by.

#include <mpi.h>

#include <string_view>

#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/communicator_ids.hpp"
#include "collectives/tuned/duplicates.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/next_mpi.hpp"

namespace {

using lanewise::tuned::made_by_group;
using lanewise::tuned::made_of;
using lanewise::tuned::next_function;

int made(const lanewise::tuned::Origin& origin, const MPI_Comm *comm) {
    lanewise::tuned::give_id(*comm, origin);
    lanewise::tuned::compare_early(*comm);
    return MPI_SUCCESS;
}

}  // namespace

#define LANEWISE_DEFINE_BY(origin, name, parameters, ...)                  \
    extern "C" LANEWISE_EXPORT int MPI_##name parameters {                 \
        static const auto own = next_function("MPI_" #name, &PMPI_##name); \
        const int code = own(__VA_ARGS__, new_comm);                       \
        return code == MPI_SUCCESS ? made(origin, new_comm) : code;        \
    }
#define LANEWISE_DEFINE(name, parameters, ...) \
    LANEWISE_DEFINE_BY(made_of(comm), name, parameters, __VA_ARGS__)

LANEWISE_DEFINE(Comm_dup, (MPI_Comm comm, MPI_Comm *new_comm), comm)
LANEWISE_DEFINE(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *new_comm), comm, info)
LANEWISE_DEFINE(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *new_comm), comm, color,
                key)
LANEWISE_DEFINE(Comm_split_type,
                (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new_comm), comm, type,
                key, info)
LANEWISE_DEFINE(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *new_comm), comm, group)
LANEWISE_DEFINE_BY(made_by_group(tag), Comm_create_group,
                   (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new_comm), comm, group, tag)
LANEWISE_DEFINE(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *new_comm), comm, high)
LANEWISE_DEFINE(Cart_create,
                (MPI_Comm comm, int count, const int dimensions[], const int periods[], int reorder,
                 MPI_Comm *new_comm),
                comm, count, dimensions, periods, reorder)
LANEWISE_DEFINE(Cart_sub, (MPI_Comm comm, const int remaining[], MPI_Comm *new_comm), comm,
                remaining)
LANEWISE_DEFINE(Graph_create,
                (MPI_Comm comm, int count, const int index[], const int edges[], int reorder,
                 MPI_Comm *new_comm),
                comm, count, index, edges, reorder)
LANEWISE_DEFINE(Dist_graph_create,
                (MPI_Comm comm, int count, const int sources[], const int degrees[],
                 const int targets[], const int weights[], MPI_Info info, int reorder,
                 MPI_Comm *new_comm),
                comm, count, sources, degrees, targets, weights, info, reorder)
LANEWISE_DEFINE(Dist_graph_create_adjacent,
                (MPI_Comm comm, int in, const int sources[], const int in_weights[], int out,
                 const int targets[], const int out_weights[], MPI_Info info, int reorder,
                 MPI_Comm *new_comm),
                comm, in, sources, in_weights, out, targets, out_weights, info, reorder)
#ifdef LANEWISE_HAS_SESSIONS
LANEWISE_DEFINE_BY(made_by_group(std::string_view(tag)), Comm_create_from_group,
                   (MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler,
                    MPI_Comm *new_comm),
                   group, tag, info, handler)
#endif

extern "C" LANEWISE_EXPORT int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *new_comm,
                                             MPI_Request *request) {
    static const auto own = next_function("MPI_Comm_idup", &PMPI_Comm_idup);
    return lanewise::tuned::duplicate_later(
        comm, new_comm, request,
        [&](MPI_Comm *made, MPI_Request *later) { return own(comm, made, later); });
}

#ifdef LANEWISE_HAS_IDUP_WITH_INFO
extern "C" LANEWISE_EXPORT int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info,
                                                       MPI_Comm *new_comm, MPI_Request *request) {
    static const auto own = next_function("MPI_Comm_idup_with_info", &PMPI_Comm_idup_with_info);
    return lanewise::tuned::duplicate_later(
        comm, new_comm, request,
        [&](MPI_Comm *made, MPI_Request *later) { return own(comm, info, made, later); });
}
#endif
