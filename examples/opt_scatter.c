/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opt_Scatter: measure two scatters of your own at run time, then use the
 * faster one for each size (MPIBlib 2008, section 4).
 *
 *     mpicc opt_scatter.c -o opt_scatter $(pkg-config --cflags --libs lanewise)
 *     mpirun -n 4 ./opt_scatter
 */
#include <lanewise/measure.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_COUNT = 6, SCATTER_COUNT = 2, TAG = 7 };

static const uint64_t sizes_bytes[SIZE_COUNT] = {8, 64, 512, 4096, 32768, 262144};

/* The root sends every rank its block, one after another. */
static int linear_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                          int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank != root)
        return MPI_Recv(receive, receive_count, receive_type, root, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Aint low, extent;
    MPI_Type_get_extent(send_type, &low, &extent);
    for (int r = 0; r < size; ++r) {
        const char *block = (const char *)send + r * send_count * extent;
        if (r == root) {
            MPI_Sendrecv(block, send_count, send_type, rank, TAG, receive, receive_count,
                         receive_type, rank, TAG, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(block, send_count, send_type, r, TAG, comm);
        }
    }
    return MPI_SUCCESS;
}

/* Each rank gets the blocks of its subtree and passes halves of them on. */
static int binomial_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                            int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    (void)send_count;
    (void)send_type;
    int rank, size, type_bytes;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_size(receive_type, &type_bytes);
    const int block_bytes = receive_count * type_bytes;
    const int place = (rank - root + size) % size; /* 0 at the root */
    int mask = 1;
    while (mask < size && (place & mask) == 0) mask *= 2;
    const int held = mask < size - place ? mask : size - place; /* blocks of this subtree */

    char *blocks = malloc((size_t)held * (size_t)block_bytes + 1);
    if (!blocks) return MPI_ERR_NO_MEM;
    if (place == 0) {
        for (int p = 0; p < size; ++p) {
            const int owner = (p + root) % size;
            memcpy(blocks + p * block_bytes, (const char *)send + owner * block_bytes,
                   (size_t)block_bytes);
        }
    } else {
        MPI_Recv(blocks, held * block_bytes, MPI_BYTE, (place - mask + root) % size, TAG, comm,
                 MPI_STATUS_IGNORE);
    }
    for (mask /= 2; mask > 0; mask /= 2) {
        if (place + mask >= size) continue;
        const int left = size - place - mask;
        const int passed = mask < left ? mask : left;
        MPI_Send(blocks + mask * block_bytes, passed * block_bytes, MPI_BYTE,
                 (place + mask + root) % size, TAG, comm);
    }
    memcpy(receive, blocks, (size_t)block_bytes);
    free(blocks);
    return MPI_SUCCESS;
}

static const lw_scatter_fn scatters[SCATTER_COUNT] = {linear_scatter, binomial_scatter};
static const char *const names[SCATTER_COUNT] = {"linear", "binomial"};
static int fastest[SIZE_COUNT]; /* which scatter wins at each size */

static lw_status measure_scatters(MPI_Comm comm) {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.timing = LW_TIMING_ROOT;
    double times_s[SCATTER_COUNT][SIZE_COUNT];
    for (int s = 0; s < SCATTER_COUNT; ++s) {
        lw_operation *scatter = lw_operation_scatter(scatters[s]);
        lw_samples *samples = NULL;
        lw_status status =
            lw_measure(comm, scatter, 0, sizes_bytes, SIZE_COUNT, &options, &samples);
        for (size_t i = 0; i < SIZE_COUNT; ++i) times_s[s][i] = lw_samples_median(samples, i);
        lw_samples_free(samples);
        lw_operation_free(scatter);
        if (status != LW_OK) return status;
    }
    for (int i = 0; i < SIZE_COUNT; ++i) fastest[i] = times_s[1][i] < times_s[0][i];
    return LW_OK;
}

/* To be called instead of MPI_Scatter. The size is the same on every rank, and so the choice. */
static int opt_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                       int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    int type_bytes;
    MPI_Type_size(receive_type, &type_bytes);
    const uint64_t message_bytes = (uint64_t)receive_count * (uint64_t)type_bytes;
    int i = 0;
    while (i + 1 < SIZE_COUNT && sizes_bytes[i + 1] <= message_bytes) ++i;
    return scatters[fastest[i]](send, send_count, send_type, receive, receive_count, receive_type,
                                root, comm);
}

static int scatter_arrives(MPI_Comm comm, int count, int root) {
    int rank, size, right = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *send = malloc((size_t)(count * size) * sizeof *send);
    int *receive = malloc((size_t)count * sizeof *receive);
    for (int i = 0; i < count * size; ++i) send[i] = i;
    opt_scatter(send, count, MPI_INT, receive, count, MPI_INT, root, comm);
    for (int i = 0; i < count; ++i) right = right && receive[i] == rank * count + i;
    free(send);
    free(receive);
    return right;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, right = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    const lw_status status = measure_scatters(MPI_COMM_WORLD);
    if (rank == 0 && status == LW_OK) {
        for (int i = 0; i < SIZE_COUNT; ++i)
            printf("%8llu bytes: %s\n", (unsigned long long)sizes_bytes[i], names[fastest[i]]);
    }
    for (int i = 0; i < SIZE_COUNT; ++i)
        right =
            right && scatter_arrives(MPI_COMM_WORLD, (int)(sizes_bytes[i] / sizeof(int)), i % size);
    MPI_Finalize();
    return status == LW_OK && right ? 0 : 1;
}
