/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A gas of soft discs in a periodic square, at constant temperature.
 *
 *     mpirun -n 4 ./gas STEPS [exact]
 *
 * Each rank moves some of the discs.  What it computes for a disc is the same on any number of
 * ranks; what the ranks do together is to add up the kinetic energy, from which every step scales
 * the velocities.  Added as usual, the energy differs in its last bits with the number of ranks,
 * and discs that collide make more of the difference at every collision.  With "exact" the energy
 * is added by Lanewise, and the gas moves alike on any number of ranks.
 *
 * Rank 0 prints a step and the total energy after every hundred of them.
 */
#include <lanewise/sum.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, COUNT = SIDE * SIDE };

static const double box = 10.0, cutoff = 2.0, step = 0.004, temperature = 1.0, coupling = 0.2;

static double position[COUNT][2], velocity[COUNT][2], force[COUNT][2], potential[COUNT];
static int first, last; /* the discs of this rank are first, ..., last - 1 */

/* The same on every rank: a lattice, and velocities from a generator with a fixed seed. */
static void begin(void) {
    unsigned long state = 20061119;
    for (int i = 0; i < COUNT; ++i) {
        position[i][0] = (i % SIDE + 0.5) * box / SIDE;
        position[i][1] = (i / SIDE + 0.5) * box / SIDE;
        for (int axis = 0; axis < 2; ++axis) {
            state = (state * 1103515245UL + 12345UL) % 2147483648UL;
            velocity[i][axis] = 2.4 * ((double)state / 2147483648.0 - 0.5);
        }
    }
}

/* Discs repel each other by r^-6, cut off smoothly. */
static void compute_forces(void) {
    for (int i = first; i < last; ++i) {
        force[i][0] = force[i][1] = potential[i] = 0.0;
        for (int j = 0; j < COUNT; ++j) {
            double apart[2], square = 0.0;
            for (int axis = 0; axis < 2; ++axis) {
                apart[axis] = position[i][axis] - position[j][axis];
                apart[axis] -= box * floor(apart[axis] / box + 0.5);
                square += apart[axis] * apart[axis];
            }
            if (j == i || square > cutoff * cutoff) continue;
            const double near6 = 1.0 / (square * square * square);
            const double far6 = 1.0 / 64.0;
            potential[i] += 0.5 * (near6 - far6);
            for (int axis = 0; axis < 2; ++axis) {
                force[i][axis] += 6.0 * near6 / square * apart[axis];
            }
        }
    }
}

/* The sum of the `mine` of all ranks. */
static double total_of(const double *mine, int count, int exact) {
    double total = 0.0;
    if (exact) {
        lw_accumulator *sum = NULL;
        lw_accumulator_create(&sum);
        lw_accumulator_add_f64(sum, mine, (size_t)count);
        lw_accumulator_allreduce(sum, MPI_COMM_WORLD);
        lw_accumulator_f64(sum, &total);
        lw_accumulator_free(sum);
        return total;
    }
    double own = 0.0;
    for (int i = 0; i < count; ++i) own += mine[i];
    MPI_Allreduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

static double kinetic_energy(int exact) {
    double mine[COUNT];
    for (int i = first; i < last; ++i) {
        mine[i - first] = 0.5 * (velocity[i][0] * velocity[i][0] + velocity[i][1] * velocity[i][1]);
    }
    return total_of(mine, last - first, exact);
}

static void push(double time, double scale) {
    for (int i = first; i < last; ++i) {
        for (int axis = 0; axis < 2; ++axis) {
            velocity[i][axis] = scale * (velocity[i][axis] + time * force[i][axis]);
        }
    }
}

static void drift(const int counts[], const int places[]) {
    for (int i = first; i < last; ++i) {
        for (int axis = 0; axis < 2; ++axis) position[i][axis] += step * velocity[i][axis];
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, position, counts, places, MPI_DOUBLE,
                   MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank = 0, ranks = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int steps = argc > 1 ? atoi(argv[1]) : 1000;
    if (steps < 1) {
        if (rank == 0) fprintf(stderr, "use: gas [STEPS(1..) [exact]]\n");
        MPI_Finalize();
        return 2;
    }
    const int exact = argc > 2 && strcmp(argv[2], "exact") == 0;
    int *counts = calloc((size_t)ranks, sizeof *counts);
    int *places = calloc((size_t)ranks, sizeof *places);
    if (!counts || !places) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int r = 0; r < ranks; ++r) {
        places[r] = 2 * (COUNT * r / ranks);
        counts[r] = 2 * (COUNT * (r + 1) / ranks) - places[r];
    }
    first = places[rank] / 2;
    last = first + counts[rank] / 2;

    begin();
    compute_forces();
    for (int done = 1; done <= steps; ++done) {
        const double now = kinetic_energy(exact) / COUNT;
        push(0.5 * step, sqrt(1.0 + step / coupling * (temperature / now - 1.0)));
        drift(counts, places);
        compute_forces();
        push(0.5 * step, 1.0);
        if (done % 100 != 0) continue;
        const double energy =
            kinetic_energy(exact) + total_of(potential + first, last - first, exact);
        if (rank == 0) printf("%d %.17g\n", done, energy);
    }
    free(counts);
    free(places);
    MPI_Finalize();
    return 0;
}
