/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures a broadcast of 8 bytes on every rank it is started on, and prints
 * the version of the library, the ranks, and the median in seconds.
 */
#include <lanewise/measure.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = options.repetitions_max = 20;
    const uint64_t message_bytes = 8;
    lw_operation *bcast = lw_operation_bcast(NULL);
    lw_samples *samples = NULL;
    lw_status status = lw_measure(MPI_COMM_WORLD, bcast, 0, &message_bytes, 1, &options, &samples);
    if (rank == 0 && status == LW_OK) {
        printf("%s %d %.9g\n", lw_version(), ranks, lw_samples_median(samples, 0));
    }
    if (rank == 0 && status != LW_OK) fprintf(stderr, "%s\n", lw_status_text(status));

    lw_samples_free(samples);
    lw_operation_free(bcast);
    MPI_Finalize();
    return status == LW_OK ? 0 : 1;
}
