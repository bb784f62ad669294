/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI 4: datatypes of the constructors that end in _c. MPICH refuses to describe them by
 * MPI_Type_get_envelope.
 */
#include <mpi.h>
#include <stdio.h>

static int rank, ranks, wrong;

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static void broadcast_what_has_no_gaps(void) {
    int data[4] = {0};
    MPI_Datatype four;
    MPI_Type_contiguous_c(4, MPI_INT, &four);
    MPI_Type_commit(&four);
    for (int i = 0; rank == 0 && i < 4; ++i) data[i] = i + 1;
    MPI_Bcast(data, 1, four, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 4; ++i) expect(data[i], i + 1, "bcast of contiguous_c");
    MPI_Type_free(&four);
}

static void gather_columns(void) {
    int mine[8], all[64 * 8];
    MPI_Datatype column, spread;
    MPI_Request request;
    for (int i = 0; i < 8; ++i) mine[i] = 10 * rank + i;
    for (int i = 0; i < 8 * ranks; ++i) all[i] = -1;
    MPI_Type_vector_c(4, 1, 2, MPI_INT, &column);
    MPI_Type_create_resized_c(column, 0, 8 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Allgather(mine, 1, spread, all, 1, spread, MPI_COMM_WORLD);
    for (int i = 0; i < 8 * ranks; ++i) {
        expect(all[i], i % 2 ? -1 : 10 * (i / 8) + i % 8, "allgather of vector_c");
    }
    for (int i = 0; i < 8 * ranks; ++i) all[i] = -1;
    MPI_Iallgather(mine, 1, spread, all, 1, spread, MPI_COMM_WORLD, &request);
    MPI_Type_free(&spread);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 8 * ranks; ++i) {
        expect(all[i], i % 2 ? -1 : 10 * (i / 8) + i % 8, "iallgather of vector_c");
    }
    MPI_Type_free(&column);
}

static void add_pairs(void *left, void *right, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < 2 * *count; ++i) ((int *)right)[i] += ((int *)left)[i];
}

static void reduce_pairs(void) {
    int mine[4], sum[4];
    MPI_Datatype pair, copy;
    MPI_Op op;
    MPI_Type_contiguous_c(2, MPI_INT, &pair);
    MPI_Type_dup(pair, &copy);
    MPI_Type_commit(&copy);
    MPI_Op_create(add_pairs, 1, &op);
    for (int i = 0; i < 4; ++i) mine[i] = rank + i;
    MPI_Allreduce(mine, sum, 2, copy, op, MPI_COMM_WORLD);
    for (int i = 0; i < 4; ++i) {
        expect(sum[i], ranks * (ranks - 1) / 2 + ranks * i, "allreduce of contiguous_c");
    }
    MPI_Op_free(&op);
    MPI_Type_free(&copy);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv) {
    int worst = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    broadcast_what_has_no_gaps();
    gather_columns();
    reduce_pairs();
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
