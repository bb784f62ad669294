/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers in the memory of a device, on all ranks, on some and on none (device_driver.c). */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "persistent_names.h"

static int rank, ranks, wrong;

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static void broadcast_twice(int *buffer, const char *what) {
    MPI_Request request;
    MPI_Bcast_init(buffer, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; ++round) {
        *buffer = rank == 0 ? 9 + round : -1;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(*buffer, 9 + round, what);
    }
    MPI_Request_free(&request);
}

int main(int argc, char **argv) {
    int host[2], sum = 0, worst = 0;
    MPI_Request request;
    int *device = mmap((void *)UINT64_C(0x600000000000), 1 << 20, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (device == MAP_FAILED) return 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int round = 0; round < 3; ++round) {
        host[0] = device[0] = rank == 0 ? 5 + round : -1;
        MPI_Bcast(host, 1, MPI_INT, 0, MPI_COMM_WORLD);
        expect(host[0], 5 + round, "bcast to hosts");
        MPI_Bcast(device, 1, MPI_INT, 0, MPI_COMM_WORLD);
        expect(device[0], 5 + round, "bcast to devices");
        host[1] = device[1] = rank == 0 ? 7 + round : -1;
        MPI_Bcast(rank == 1 ? &device[1] : &host[1], 1, MPI_INT, 0, MPI_COMM_WORLD);
        expect(rank == 1 ? device[1] : host[1], 7 + round, "bcast to one device");
    }
    device[0] = rank;
    MPI_Allreduce(device, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum, ranks * (ranks - 1) / 2, "allreduce from devices");
    double *halves = (double *)(device + 2), half = 0;
    halves[0] = 0.5;
    MPI_Allreduce(halves, &half, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect((int)(2 * half), ranks, "allreduce of numbers from devices");
    MPI_Iallreduce(halves, &half, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect((int)(2 * half), ranks, "iallreduce of numbers from devices");
    device[0] = rank == 0 ? 3 : -1;
    MPI_Ibcast(device, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(device[0], 3, "ibcast to devices");
    broadcast_twice(host, "persistent bcast to hosts");
    broadcast_twice(rank == 1 ? device : host, "persistent bcast to one device");
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
