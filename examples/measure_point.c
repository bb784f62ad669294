/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measure one point: the broadcast of 64 KiB on all ranks.
 *
 *     mpicc measure_point.c -o measure_point $(pkg-config --cflags --libs lanewise)
 *     mpirun -n 4 ./measure_point
 */
#include <lanewise/measure.h>
#include <stdio.h>

static void print_sentence(void *context, lw_status status, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s: %s\n", lw_status_text(status), sentence);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.report = print_sentence;
    lw_operation *bcast = lw_operation_bcast(NULL); /* NULL: the MPI's own */
    const uint64_t size_bytes = 65536;
    lw_samples *samples = NULL;
    lw_status status = lw_measure(MPI_COMM_WORLD, bcast, 0, &size_bytes, 1, &options, &samples);

    lw_point point = LW_POINT;
    if (rank == 0 && lw_samples_point(samples, 0, &point) == LW_OK) {
        printf("bcast of %llu bytes: %.2f us (%.2f to %.2f, %zu repetitions)\n",
               (unsigned long long)point.message_bytes, 1e6 * point.median_s, 1e6 * point.low_s,
               1e6 * point.high_s, point.repetitions);
    }
    lw_samples_free(samples);
    lw_operation_free(bcast);
    MPI_Finalize();
    return status == LW_OK ? 0 : 1;
}
