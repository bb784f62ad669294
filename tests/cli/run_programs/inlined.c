/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums through a function that the compiler inlines into both of its callers. */
#include <mpi.h>

static inline __attribute__((always_inline)) double total(double mine) {
    double sum = 0.0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static __attribute__((noinline)) double residual(void) {
    return total(1.0) / 2.0;
}

static __attribute__((noinline)) double energy(void) {
    return total(2.0) / 3.0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const double sum = residual() + energy();
    MPI_Finalize();
    return sum > 0.0 ? 0 : 1;
}
