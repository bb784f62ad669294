/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking reductions that are the first call on their communicator, which is the world and
 * those that each function of MPI makes of it. Then reductions by an operator and of a type of the
 * program, which it frees before it waits; the operator looks at the type.  Rank 0 prints "KIND N"
 * where N elements of all ranks do not have the bits of the bracketing of docs/same-bits.md, at the
 * end "checked N" with the number of calls.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* Before MPICH 4.3, nonblocking reductions on what MPI_Comm_idup makes are left to the MPI. */
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40300000
#define IDUP_IS_SERVED
#endif

/* Open MPI 4.1 waits for ever, now and then, where two MPI_Comm_idup of one communicator are under
   way at once, in programs without Lanewise too. */
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
#define IDUPS_HANG
#endif

enum { COUNT = 1000, RANKS_MAX = 64, KINDS = 20 };

typedef struct {
    double value, weight;
} weighted;

static int rank, ranks, calls, kinds;
static const char *names[KINDS];
static long wrong[KINDS];
static MPI_Datatype weighted_type;

static double number(int of, int element) {
    return ldexp(1.0 + of * 0.37 + element * 1e-3, (of * 37 + element) % 60 - 30);
}

/* Neither commutes nor associates, in floating point. */
static weighted joined(weighted left, weighted right) {
    const weighted both = {left.value / 3 + right.value, left.weight + right.weight};
    return both;
}

static void join(void *in, void *inout, int *count, MPI_Datatype *type) {
    for (int i = 0; i < *count; ++i) {
        weighted *to = (weighted *)inout + i;
        *to = joined(((weighted *)in)[i], *to);
        if (*type != weighted_type) to->weight = NAN;
    }
}

static weighted sum(weighted left, weighted right) {
    const weighted both = {left.value + right.value, 0};
    return both;
}

/* What the ranks give as an element, in the balanced bracketing. */
static weighted balanced(weighted (*combine)(weighted, weighted), int element) {
    weighted parts[RANKS_MAX];
    int left = ranks, pairs = ranks;
    for (int r = 0; r < ranks; ++r) {
        parts[r].value = number(r, element);
        parts[r].weight = combine == joined ? r : 0;
    }
    for (int power = 1; power <= ranks; power *= 2) pairs = ranks - power;
    for (; left > 1; pairs = left / 2) {
        for (int i = 0; i < pairs; ++i) parts[i] = combine(parts[2 * i], parts[2 * i + 1]);
        for (int i = 2 * pairs; i < left; ++i) parts[i - pairs] = parts[i];
        left -= pairs;
    }
    return parts[0];
}

static void add_first(const char *name, MPI_Comm comm) {
    double mine[COUNT], sums[COUNT];
    MPI_Request request;
    names[kinds] = name;
    for (int i = 0; i < COUNT; ++i) mine[i] = number(rank, i);
    MPI_Iallreduce(mine, sums, COUNT, MPI_DOUBLE, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; ++i) {
        const double expected = balanced(sum, i).value;
        wrong[kinds] += memcmp(&sums[i], &expected, sizeof expected) != 0;
    }
    ++kinds;
    ++calls;
}

static void add_on(const char *name, MPI_Comm comm) {
    add_first(name, comm);
    MPI_Comm_free(&comm);
}

static void add_on_new_communicators(void) {
    const int everybody = ranks, all = 1, once = 1, next = (rank + 1) % ranks;
    const int before = (rank + ranks - 1) % ranks, weights[] = {1};
    MPI_Comm made, line;
    MPI_Group group;
    int index[RANKS_MAX], edges[RANKS_MAX];
    for (int r = 0; r < ranks; ++r) {
        index[r] = r + 1;
        edges[r] = (r + 1) % ranks;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    add_on("dup", made);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &made);
    add_on("dup_with_info", made);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);
    add_on("split", made);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &made);
    add_on("split_type", made);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    add_on("create", made);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made);
    add_on("create_group", made);
    MPI_Group_free(&group);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &everybody, &once, 0, &line);
    add_first("cart_create", line);
    MPI_Cart_sub(line, &all, &made);
    add_on("cart_sub", made);
    MPI_Comm_free(&line);
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, 0, &made);
    add_on("graph_create", made);
    /* Not from the world: Open MPI 4.1 waits for ever where it takes a message by which ranks agree
       on the number of a communicator for an edge. The tag of the edges, -50, is that of about the
       20th such message on a communicator. */
    MPI_Comm_dup(MPI_COMM_WORLD, &line);
    MPI_Dist_graph_create(line, 1, &rank, &once, &next, weights, MPI_INFO_NULL, 0, &made);
    add_on("dist_graph_create", made);
    MPI_Dist_graph_create_adjacent(line, 1, &before, weights, 1, &next, weights, MPI_INFO_NULL, 0,
                                   &made);
    add_on("dist_graph_create_adjacent", made);
    MPI_Comm_free(&line);
}

#ifdef IDUP_IS_SERVED
/* While others are made, or something is reduced. */
static void add_on_duplicates(void) {
    MPI_Comm made[3];
    MPI_Request requests[3];
    MPI_Comm_idup(MPI_COMM_WORLD, &made[0], &requests[0]);
    add_first("idup_beside", MPI_COMM_WORLD);
#ifdef IDUPS_HANG
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
#endif
    MPI_Comm_idup(MPI_COMM_WORLD, &made[1], &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_idup(made[0], &made[2], &requests[2]);
    add_on("idup", made[1]);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    add_on("idup_of_one", made[0]);
    add_on("idup_of_idup", made[2]);
}
#endif

/* Both ranks of two groups, in the order of the world. */
static void add_on_merged(void) {
    MPI_Comm part, between, made;
    const int lower = rank < ranks / 2;
    if (ranks < 2) return;
    MPI_Comm_split(MPI_COMM_WORLD, lower, rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, lower ? ranks / 2 : 0, 0, &between);
    MPI_Intercomm_merge(between, !lower, &made);
    add_on("merge", made);
    MPI_Comm_free(&between);
    MPI_Comm_free(&part);
}

static void join_by_freed_handles(void) {
    weighted mine[COUNT], all[COUNT];
    MPI_Request request;
    MPI_Op op;
    names[kinds] = "freed";
    MPI_Type_contiguous(2, MPI_DOUBLE, &weighted_type);
    MPI_Type_commit(&weighted_type);
    MPI_Op_create(join, 0, &op);
    for (int i = 0; i < COUNT; ++i) {
        mine[i].value = number(rank, i);
        mine[i].weight = rank;
    }
    MPI_Datatype type = weighted_type;
    MPI_Iallreduce(mine, all, COUNT, type, op, MPI_COMM_WORLD, &request);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < COUNT; ++i) {
        const weighted expected = balanced(joined, i);
        wrong[kinds] += memcmp(&all[i], &expected, sizeof expected) != 0;
    }
    wrong[kinds] += op != MPI_OP_NULL || type != MPI_DATATYPE_NULL;
    ++kinds;
    ++calls;
}

int main(int argc, char **argv) {
    long in_all[KINDS] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    add_first("world", MPI_COMM_WORLD);
    add_on_new_communicators();
#ifdef IDUP_IS_SERVED
    add_on_duplicates();
#endif
    add_on_merged();
    join_by_freed_handles();
    MPI_Reduce(wrong, in_all, KINDS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int k = 0; rank == 0 && k < kinds; ++k) {
        if (in_all[k]) printf("%s %ld\n", names[k], in_all[k]);
    }
    if (rank == 0) printf("checked %d\n", calls);
    return MPI_Finalize();
}
