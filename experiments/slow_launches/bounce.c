// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bounce: how long two processors take to pass a cache line to each other and back.
 *
 * Two threads, each bound to a processor, take turns in adding one to a number.  Prints the median
 * time of a round trip in nanoseconds over batches: what a machine can do at best, without any MPI.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 101, TRIPS = 1000 };

static _Alignas(128) atomic_int turn;

static void bind_to(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) exit(1);
}

static void pass(int mine) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine) continue;
    atomic_store_explicit(&turn, 1 - mine, memory_order_release);
}

static void *answer(void *unused) {
    bind_to(1);
    for (int i = 0; i < BATCHES * TRIPS; ++i) pass(1);
    return unused;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int ascending(const void *one, const void *other) {
    const double a = *(const double *)one;
    const double b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(void) {
    double trip_ns[BATCHES];
    pthread_t other;
    bind_to(0);
    if (pthread_create(&other, NULL, answer, NULL) != 0) return 1;
    for (int batch = 0; batch < BATCHES; ++batch) {
        const double begin_ns = now_ns();
        for (int i = 0; i < TRIPS; ++i) pass(0);
        trip_ns[batch] = (now_ns() - begin_ns) / TRIPS;
    }
    pthread_join(other, NULL);
    qsort(trip_ns, BATCHES, sizeof *trip_ns, ascending);
    printf("%.1f\n", trip_ns[BATCHES / 2]);
    return 0;
}
