/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that has hardly any memory left, in calls that take much of it: an error there and on all
 * ranks that need its data, and nobody waits for ever. Rank 0 prints "all right", or every rank
 * says what is not. With the argument "exact" the calls are those whose results are exact under
 * --same-bits ranks, none of which holds a whole vector: some hold a part of it.
 */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { numbers = 1 << 20, stride = 2, poor = 1 };

static const rlim_t left_bytes = 4 << 20;
/* Not enough for the part of a vector whose results are scattered. */
static const rlim_t hardly_left_bytes = 1 << 19;
static int rank, ranks, wrong;
static int *mine, *all;
static MPI_Comm comm;
static MPI_Datatype spread;

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static rlim_t address_space_bytes(void) {
    char line[256];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmSize: %ld", &kilobytes);
    if (status) fclose(status);
    return (rlim_t)kilobytes << 10;
}

/* A stack that has to grow when no memory is left ends the program. */
static void grow_stack(void) {
    volatile char room[1 << 20];
    for (size_t i = 0; i < sizeof room; i += 1024) room[i] = 1;
}

static void limit_memory(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    if (rank == poor) setrlimit(RLIMIT_AS, &limit);
}

static int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

static void expect_error(int code, const char *what) {
    if (rank == poor) expect(class_of(code), MPI_ERR_NO_MEM, what);
    expect(code != MPI_SUCCESS, 1, what);
}

static int gather_columns(void) {
    return MPI_Allgather(mine, 1, spread, all, 1, spread, comm);
}

static int gather_columns_later(void) {
    MPI_Request request;
    const int code = MPI_Iallgather(mine, 1, spread, all, 1, spread, comm, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

static int add(void) {
    return MPI_Allreduce(mine, all, stride * numbers, MPI_INT, MPI_SUM, comm);
}

static int scatter_sums(void) {
    return MPI_Reduce_scatter_block(MPI_IN_PLACE, all, numbers / ranks, MPI_DOUBLE, MPI_SUM, comm);
}

static int scatter_products(void) {
    return MPI_Reduce_scatter_block(MPI_IN_PLACE, all, numbers / ranks, MPI_DOUBLE, MPI_PROD, comm);
}

static void expect_sums(const char *what) {
    double *sums = (double *)all;
    for (int i = 0; i < numbers; ++i) sums[i] = rank + 1;
    expect(MPI_Allreduce(MPI_IN_PLACE, sums, numbers, MPI_DOUBLE, MPI_SUM, comm), MPI_SUCCESS,
           what);
    expect((int)sums[numbers - 1], ranks * (ranks + 1) / 2, what);
    expect(MPI_Allreduce(MPI_IN_PLACE, sums, numbers, MPI_DOUBLE, MPI_PROD, comm), MPI_SUCCESS,
           what);
}

static void scatter_exactly(void) {
    expect(scatter_sums(), MPI_SUCCESS, "sums with memory");
    expect_sums("sums with memory");
    grow_stack();
    limit_memory(address_space_bytes() + left_bytes);
    expect(scatter_sums(), MPI_SUCCESS, "sums without memory for the vector");
    expect(scatter_products(), MPI_SUCCESS, "products without memory for the vector");
    expect_sums("sums that take little memory");
    limit_memory(address_space_bytes() + hardly_left_bytes);
    expect_error(scatter_sums(), "sums without memory for a part");
    expect_error(scatter_products(), "products without memory for a part");
    limit_memory(RLIM_INFINITY);
    expect(scatter_products(), MPI_SUCCESS, "products with memory");
}

static void expect_results(void) {
    memset(all, 0, sizeof(int) * stride * numbers * ranks);
    expect(gather_columns(), MPI_SUCCESS, "allgather with memory");
    for (int i = 0; i < ranks; ++i) expect(all[stride * numbers * i], i, "gathered");
    expect(gather_columns_later(), MPI_SUCCESS, "iallgather with memory");
    expect(add(), MPI_SUCCESS, "allreduce with memory");
    expect(all[1], ranks * (ranks - 1) / 2, "added");
}

static void move_and_add(void) {
    /* The MPI takes the memory that it needs itself. */
    expect_results();

    grow_stack();
    limit_memory(address_space_bytes() + left_bytes);
    expect_error(gather_columns(), "allgather without memory to pack in");
    expect_error(gather_columns_later(), "iallgather without memory to pack in");
    expect_error(add(), "allreduce without memory for what comes");

    limit_memory(RLIM_INFINITY);
    expect_results();
}

int main(int argc, char **argv) {
    int worst = 0;
    MPI_Datatype column;
    /* What is freed goes back to the system. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(numbers, 1, stride, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, (MPI_Aint)sizeof(int) * stride * numbers, &spread);
    MPI_Type_commit(&spread);
    MPI_Type_free(&column);
    mine = malloc(sizeof(int) * stride * numbers);
    all = malloc(sizeof(int) * stride * numbers * ranks);
    for (int i = 0; i < stride * numbers; ++i) mine[i] = rank;
    if (argc > 1)
        scatter_exactly();
    else
        move_and_add();
    MPI_Type_free(&spread);
    MPI_Comm_free(&comm);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
