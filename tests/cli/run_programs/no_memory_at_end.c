/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many barriers, and then one rank that has hardly any memory left when MPI is finalized.
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

enum { barriers = 150 * 1000, poor = 1 };

static const rlim_t left_bytes = 8 << 20;

static rlim_t address_space_bytes(void) {
    char line[256];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "VmSize: %ld", &kilobytes);
    if (status) fclose(status);
    return (rlim_t)kilobytes << 10;
}

int main(int argc, char **argv) {
    int rank;
    struct rlimit limit;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < barriers; ++i) MPI_Barrier(MPI_COMM_WORLD);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space_bytes() + left_bytes;
    if (rank == poor) setrlimit(RLIMIT_AS, &limit);
    MPI_Finalize();
    if (rank == 0) printf("ended well\n");
    return 0;
}
