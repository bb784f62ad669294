/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: a plain MPI program that knows nothing of Lanewise.
 *
 * The root hands each rank its rows of a picture, every rank softens them, the
 * root collects them, and all agree on the brightest pixel. Run it as it is, and
 * again with a tuning file:
 *
 *     mpirun -n 4 ./frames 200
 *     lanewise run --tuning tuning.json -- mpirun -n 4 ./frames 200
 *
 * Prints the frames per second, and a checksum that must not depend on the tuning.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 512, ROWS_PER_RANK = 256 };

static void soften(const float *in, float *out, int rows) {
    for (int y = 0; y < rows; ++y) {
        const float *row = in + y * WIDTH;
        out[y * WIDTH] = row[0];
        out[y * WIDTH + WIDTH - 1] = row[WIDTH - 1];
        for (int x = 1; x < WIDTH - 1; ++x)
            out[y * WIDTH + x] = (row[x - 1] + 2 * row[x] + row[x + 1]) / 4;
    }
}

static float brightest(const float *pixels, int count) {
    float most = 0;
    for (int i = 0; i < count; ++i)
        if (pixels[i] > most) most = pixels[i];
    return most;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int frames = argc > 1 ? atoi(argv[1]) : 100;
    if (frames < 1) {
        if (rank == 0) fprintf(stderr, "use: frames [FRAMES(1..)]\n");
        MPI_Finalize();
        return 2;
    }
    const int own = WIDTH * ROWS_PER_RANK;

    float *picture = NULL;
    if (rank == 0) {
        picture = malloc(sizeof(float) * (size_t)own * (size_t)size);
        for (int i = 0; i < own * size; ++i) picture[i] = (float)(i * 2654435761u % 256u);
    }
    float *rows = malloc(sizeof(float) * (size_t)own);
    float *softened = malloc(sizeof(float) * (size_t)own);

    double checksum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int frame = 0; frame < frames; ++frame) {
        MPI_Scatter(picture, own, MPI_FLOAT, rows, own, MPI_FLOAT, 0, MPI_COMM_WORLD);
        soften(rows, softened, ROWS_PER_RANK);
        MPI_Gather(softened, own, MPI_FLOAT, picture, own, MPI_FLOAT, 0, MPI_COMM_WORLD);
        float most = brightest(softened, own);
        MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
        checksum += most;
    }
    const double elapsed = MPI_Wtime() - begin;
    if (rank == 0)
        printf("%d frames on %d ranks: %.1f frames/s, checksum %.3f\n", frames, size,
               frames / elapsed, checksum);

    free(picture);
    free(rows);
    free(softened);
    MPI_Finalize();
    return 0;
}
