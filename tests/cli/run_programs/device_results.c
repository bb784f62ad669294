/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions into the memory of a device, with other results in each run (device_driver.c). */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char **argv) {
    struct {
        double value;
        int place;
    } mine = {0, 0}, *device = NULL;
    device = mmap((void *)UINT64_C(0x600000000000), 1 << 20, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (device == MAP_FAILED) return 1;
    MPI_Init(&argc, &argv);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    mine.value = (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
    MPI_Allreduce(&mine.value, &device->value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, device, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
