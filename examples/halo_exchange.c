/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user operation: the halo exchange of a ring, as a shared object that the
 * command line measures by name:
 *
 *     mpicc -shared -fPIC halo_exchange.c -o halo_exchange.so $(pkg-config --cflags lanewise)
 *     mpirun -n 4 lanewise-measure --operation ./halo_exchange.so:halo_exchange --sizes 8,1K
 *     lanewise measure --operation ./halo_exchange.so:halo_exchange -n 4 --sizes 8,1K
 */
#include <lanewise/operation.h>
#include <stdlib.h>

struct halo {
    MPI_Comm comm;
    int left, right, bytes;
    char *send, *receive;
};

static int halo_setup(void *context, MPI_Comm comm, int root, uint64_t message_bytes,
                      void **state) {
    (void)context;
    (void)root;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    struct halo *halo = malloc(sizeof *halo);
    if (!halo) return 1;
    *halo = (struct halo){comm,
                          (rank + size - 1) % size,
                          (rank + 1) % size,
                          (int)message_bytes,
                          calloc(1, message_bytes + 1),
                          calloc(1, message_bytes + 1)};
    *state = halo;
    return !halo->send || !halo->receive;
}

static int halo_execute(void *state) {
    struct halo *halo = state;
    MPI_Sendrecv(halo->send, halo->bytes, MPI_BYTE, halo->right, 0, halo->receive, halo->bytes,
                 MPI_BYTE, halo->left, 0, halo->comm, MPI_STATUS_IGNORE);
    return MPI_Sendrecv(halo->send, halo->bytes, MPI_BYTE, halo->left, 1, halo->receive,
                        halo->bytes, MPI_BYTE, halo->right, 1, halo->comm, MPI_STATUS_IGNORE);
}

static void halo_teardown(void *state) {
    struct halo *halo = state;
    free(halo->send);
    free(halo->receive);
    free(halo);
}

const lw_operation_callbacks halo_exchange = {
    .struct_size = sizeof(lw_operation_callbacks),
    .name = "halo_exchange",
    .setup = halo_setup,
    .execute = halo_execute,
    .teardown = halo_teardown,
};
