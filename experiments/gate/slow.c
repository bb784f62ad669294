// SPDX-License-Identifier: BSD-3-Clause
/*
 * Slow: a preloaded library that makes one operation of a program slower by a busy wait.
 *
 * LANEWISE_SLOW names the operation and, for each size in bytes, the wait in nanoseconds:
 * "allreduce 8:20 1024:35 65536:980".  A call of another size waits no time.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZES_MAX = 16 };

static char operation[32];
static long sizes_bytes[SIZES_MAX];
static double waits_ns[SIZES_MAX], turns_per_ns;
static int size_count = -1;

static void spin(long turns) {
    for (volatile long turn = 0; turn < turns; ++turn) continue;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* A clock takes as long to read as the shortest waits, so turns of a loop are counted instead. */
static void calibrate(void) {
    enum { TURNS = 20000, TIMES = 50 };
    double shortest_ns = 1e9;
    for (int i = 0; i < TIMES; ++i) {
        const double begin_ns = now_ns();
        spin(TURNS);
        const double took_ns = now_ns() - begin_ns;
        if (took_ns < shortest_ns) shortest_ns = took_ns;
    }
    turns_per_ns = TURNS / shortest_ns;
}

static void read_settings(void) {
    size_count = 0;
    calibrate();
    const char *text = getenv("LANEWISE_SLOW");
    int used = 0;
    if (text == NULL || sscanf(text, "%31s%n", operation, &used) != 1) return;
    for (text += used; size_count < SIZES_MAX; text += used, ++size_count) {
        const int at = size_count;
        if (sscanf(text, " %ld:%lf%n", &sizes_bytes[at], &waits_ns[at], &used) != 2) return;
    }
}

static void wait_in(const char *name, int count, MPI_Datatype type) {
    if (size_count < 0) read_settings();
    if (strcmp(name, operation) != 0) return;
    int item_bytes = 0;
    PMPI_Type_size(type, &item_bytes);
    for (int i = 0; i < size_count; ++i)
        if (sizes_bytes[i] == (long)count * item_bytes) {
            spin((long)(waits_ns[i] * turns_per_ns));
            return;
        }
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
    wait_in("allreduce", count, type);
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    wait_in("bcast", count, type);
    return PMPI_Bcast(buffer, count, type, root, comm);
}
