// SPDX-License-Identifier: BSD-3-Clause
//
// Functions: the one table of what is intercepted. A row is the name of an MPI
// function in its spellings, the collective whose rules it follows, and its
// arguments by the names that they have in Call. The functions of C (with int and with MPI_Count),
// those of Fortran and the pointers to the next definitions are made from it. Each function has a
// nonblocking form, whose name begins with I and whose last argument is a request.

#pragma once

#define LANEWISE_EXPORT __attribute__((visibility("default")))

/* Those with counts: MPI 4 has each with MPI_Count as well, as MPI_..._c. */
#define LANEWISE_NEAR_FUNCTIONS(X)                                                                 \
    X(Bcast, bcast, BCAST, bcast, receive, receive_count, receive_type, root, comm)                \
    X(Scatter, scatter, SCATTER, scatter, send, send_count, send_type, receive, receive_count,     \
      receive_type, root, comm)                                                                    \
    X(Scatterv, scatterv, SCATTERV, scatterv, send, counts, displacements, send_type, receive,     \
      receive_count, receive_type, root, comm)                                                     \
    X(Gather, gather, GATHER, gather, send, send_count, send_type, receive, receive_count,         \
      receive_type, root, comm)                                                                    \
    X(Gatherv, gatherv, GATHERV, gatherv, send, send_count, send_type, receive, counts,            \
      displacements, receive_type, root, comm)                                                     \
    X(Allgather, allgather, ALLGATHER, allgather, send, send_count, send_type, receive,            \
      receive_count, receive_type, comm)                                                           \
    X(Allgatherv, allgatherv, ALLGATHERV, allgatherv, send, send_count, send_type, receive,        \
      counts, displacements, receive_type, comm)                                                   \
    X(Alltoall, alltoall, ALLTOALL, alltoall, send, send_count, send_type, receive, receive_count, \
      receive_type, comm)                                                                          \
    X(Alltoallv, alltoallv, ALLTOALLV, alltoallv, send, send_counts, send_displacements,           \
      send_type, receive, counts, displacements, receive_type, comm)                               \
    X(Alltoallw, alltoallw, ALLTOALLW, alltoallw, send, send_counts, send_displacements,           \
      send_types, receive, counts, displacements, receive_types, comm)                             \
    X(Reduce, reduce, REDUCE, reduce, send, receive, receive_count, receive_type, op, root, comm)  \
    X(Allreduce, allreduce, ALLREDUCE, allreduce, send, receive, receive_count, receive_type, op,  \
      comm)                                                                                        \
    X(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, reduce_scatter, send, receive, counts,       \
      receive_type, op, comm)                                                                      \
    X(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK, reduce_scatter, send,      \
      receive, receive_count, receive_type, op, comm)                                              \
    X(Scan, scan, SCAN, scan, send, receive, receive_count, receive_type, op, comm)                \
    X(Exscan, exscan, EXSCAN, exscan, send, receive, receive_count, receive_type, op, comm)        \
    X(Neighbor_allgather, neighbor_allgather, NEIGHBOR_ALLGATHER, neighbor_allgather, send,        \
      send_count, send_type, receive, receive_count, receive_type, comm)                           \
    X(Neighbor_allgatherv, neighbor_allgatherv, NEIGHBOR_ALLGATHERV, neighbor_allgatherv, send,    \
      send_count, send_type, receive, counts, displacements, receive_type, comm)                   \
    X(Neighbor_alltoall, neighbor_alltoall, NEIGHBOR_ALLTOALL, neighbor_alltoall, send,            \
      send_count, send_type, receive, receive_count, receive_type, comm)                           \
    X(Neighbor_alltoallv, neighbor_alltoallv, NEIGHBOR_ALLTOALLV, neighbor_alltoallv, send,        \
      send_counts, send_displacements, send_type, receive, counts, displacements, receive_type,    \
      comm)

/* Whose displacements are of MPI_Aint in C, and of MPI_ADDRESS_KIND in Fortran, in any case. */
#define LANEWISE_FAR_FUNCTIONS(X)                                                                 \
    X(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW, neighbor_alltoallw, send,       \
      send_counts, send_displacements, send_types, receive, counts, displacements, receive_types, \
      comm)

#define LANEWISE_COUNTED_FUNCTIONS(X) \
    LANEWISE_NEAR_FUNCTIONS(X)        \
    LANEWISE_FAR_FUNCTIONS(X)

#define LANEWISE_FUNCTIONS(X)                   \
    X(Barrier, barrier, BARRIER, barrier, comm) \
    LANEWISE_COUNTED_FUNCTIONS(X)

/* LANEWISE_EACH(f, a, b, c) is f(a), f(b), f(c), for up to nine. */
#define LANEWISE_EACH_1(f, a) f(a)
#define LANEWISE_EACH_2(f, a, ...) f(a), LANEWISE_EACH_1(f, __VA_ARGS__)
#define LANEWISE_EACH_3(f, a, ...) f(a), LANEWISE_EACH_2(f, __VA_ARGS__)
#define LANEWISE_EACH_4(f, a, ...) f(a), LANEWISE_EACH_3(f, __VA_ARGS__)
#define LANEWISE_EACH_5(f, a, ...) f(a), LANEWISE_EACH_4(f, __VA_ARGS__)
#define LANEWISE_EACH_6(f, a, ...) f(a), LANEWISE_EACH_5(f, __VA_ARGS__)
#define LANEWISE_EACH_7(f, a, ...) f(a), LANEWISE_EACH_6(f, __VA_ARGS__)
#define LANEWISE_EACH_8(f, a, ...) f(a), LANEWISE_EACH_7(f, __VA_ARGS__)
#define LANEWISE_EACH_9(f, a, ...) f(a), LANEWISE_EACH_8(f, __VA_ARGS__)
#define LANEWISE_TENTH(a, b, c, d, e, f, g, h, i, tenth, ...) tenth
#define LANEWISE_EACH(f, ...)                                                          \
    LANEWISE_TENTH(__VA_ARGS__, LANEWISE_EACH_9, LANEWISE_EACH_8, LANEWISE_EACH_7,     \
                   LANEWISE_EACH_6, LANEWISE_EACH_5, LANEWISE_EACH_4, LANEWISE_EACH_3, \
                   LANEWISE_EACH_2, LANEWISE_EACH_1, unused)                           \
    (f, __VA_ARGS__)
