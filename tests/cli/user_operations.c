/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * User operations for the tests: one that works, and one whose last rank dies
 * at 1024 bytes once other sizes have had the time to finish.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include <lanewise/operation.h>

typedef struct state {
    MPI_Comm comm;
    uint64_t message_bytes;
} state;

static int setup(void *context, MPI_Comm comm, int root, uint64_t message_bytes, void **made) {
    (void)context;
    (void)root;
    state *self = malloc(sizeof *self);
    if (!self) return 1;
    self->comm = comm;
    self->message_bytes = message_bytes;
    *made = self;
    return 0;
}

static int meet(void *made) {
    return MPI_Barrier(((state *)made)->comm);
}

static int meet_or_die(void *made) {
    static int executions = 0;
    const state *self = made;
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(self->comm, &rank);
    MPI_Comm_size(self->comm, &size);
    if (self->message_bytes == 1024 && rank == size - 1 && ++executions > 40) raise(SIGKILL);
    return MPI_Barrier(self->comm);
}

static void teardown(void *made) {
    free(made);
}

const lw_operation_callbacks rendezvous = {
    sizeof(lw_operation_callbacks), "rendezvous", setup, meet, teardown, NULL};
const lw_operation_callbacks dying = {
    sizeof(lw_operation_callbacks), "dying", setup, meet_or_die, teardown, NULL};
