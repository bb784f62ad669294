/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Integer sort: ranks integer keys over and over, nearly all of the time in MPI_Alltoallv, as the
 * kernel IS of the NAS Parallel Benchmarks asks for (Bailey et al. 1991).  Written from the
 * specification: the generator x' = 5^13 x mod 2^46, keys that are means of four numbers, two keys
 * changed in each iteration, ranking by buckets, and a full check of the order at the end.
 *
 *     mpirun -n 4 ./integer_sort 23 10        2^23 keys below 2^19 (class A), 10 iterations
 *
 * Prints the seconds of the ranking, and ends with 1 where the check fails.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bucket_bits = 10, bucket_count = 1 << bucket_bits, key_bits_less = 4 };

static const uint64_t modulus_mask = (UINT64_C(1) << 46) - 1;
static const uint64_t multiplier = 1220703125; /* 5^13 */
static const uint64_t seed = 314159265;

typedef struct sorter {
    int rank;
    int ranks;
    int key_bits;
    int count; /* keys of this rank */
    int *keys;
    int *outgoing; /* by buckets */
    int *incoming;
    int capacity;
    int received;
} sorter;

/* The low bits of a product do not depend on what overflows. */
static uint64_t times(uint64_t a, uint64_t b) {
    return a * b & modulus_mask;
}

static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = times(result, base);
        base = times(base, base);
    }
    return result;
}

static void make_keys(sorter *s) {
    const uint64_t before = UINT64_C(4) * (uint64_t)s->count * (uint64_t)s->rank;
    uint64_t x = times(seed, power(multiplier, before));
    const double scale = 1.0 / (double)(modulus_mask + 1);
    const double quarter = (double)(1 << s->key_bits) / 4;
    for (int i = 0; i < s->count; ++i) {
        double sum = 0;
        for (int j = 0; j < 4; ++j) {
            x = times(x, multiplier);
            sum += (double)x * scale;
        }
        s->keys[i] = (int)(quarter * sum);
    }
}

static int bucket_of(const sorter *s, int key) {
    return key >> (s->key_bits - bucket_bits);
}

/* Which rank sorts each bucket, so that all get about as many keys. */
static void share_buckets(const sorter *s, const int *totals, int *owner) {
    const int64_t all = (int64_t)s->count * s->ranks;
    int64_t before = 0;
    for (int b = 0; b < bucket_count; ++b) {
        int wanted = (int)(before * s->ranks / all);
        owner[b] = wanted < s->ranks ? wanted : s->ranks - 1;
        before += totals[b];
    }
}

/* Sends each key to the rank that has its bucket. */
static void distribute(sorter *s) {
    int mine[bucket_count] = {0};
    int totals[bucket_count];
    int owner[bucket_count];
    int place[bucket_count];
    for (int i = 0; i < s->count; ++i) ++mine[bucket_of(s, s->keys[i])];
    MPI_Allreduce(mine, totals, bucket_count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    share_buckets(s, totals, owner);

    int *counts = calloc((size_t)s->ranks * 4, sizeof *counts);
    int *starts = counts + s->ranks;
    int *from_counts = starts + s->ranks;
    int *from_starts = from_counts + s->ranks;
    for (int b = 0, at = 0; b < bucket_count; at += mine[b++]) {
        place[b] = at;
        counts[owner[b]] += mine[b];
    }
    for (int i = 0; i < s->count; ++i) s->outgoing[place[bucket_of(s, s->keys[i])]++] = s->keys[i];
    MPI_Alltoall(counts, 1, MPI_INT, from_counts, 1, MPI_INT, MPI_COMM_WORLD);
    s->received = 0;
    for (int r = 0; r < s->ranks; ++r) {
        if (r) starts[r] = starts[r - 1] + counts[r - 1];
        from_starts[r] = s->received;
        s->received += from_counts[r];
    }
    if (s->received > s->capacity) {
        s->capacity = s->received;
        s->incoming = realloc(s->incoming, (size_t)s->capacity * sizeof(int));
    }
    MPI_Alltoallv(s->outgoing, counts, starts, MPI_INT, s->incoming, from_counts, from_starts,
                  MPI_INT, MPI_COMM_WORLD);
    free(counts);
}

/* How many keys there are of each value, and so the rank of each key. */
static void rank_keys(const sorter *s, int *ranks_of) {
    memset(ranks_of, 0, sizeof(int) << s->key_bits);
    for (int i = 0; i < s->received; ++i) ++ranks_of[s->incoming[i]];
    for (int key = 1; key < 1 << s->key_bits; ++key) ranks_of[key] += ranks_of[key - 1];
}

/* Sorts what this rank has, and compares its ends with those of its neighbours, and all sums. */
static int is_sorted(const sorter *s, const int *ranks_of, int64_t expected_sum) {
    int bounds[2] = {1 << s->key_bits, -1};
    int64_t sums[2] = {0, s->received};
    for (int i = 0; i < s->received; ++i) {
        const int key = s->incoming[i];
        sums[0] += key;
        if (key < bounds[0]) bounds[0] = key;
        if (key > bounds[1]) bounds[1] = key;
    }
    int *all = malloc((size_t)s->ranks * sizeof bounds);
    int64_t totals[2];
    MPI_Allgather(bounds, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allreduce(sums, totals, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    int good = totals[0] == expected_sum && totals[1] == (int64_t)s->count * s->ranks &&
               ranks_of[(1 << s->key_bits) - 1] == s->received;
    for (int r = 0, last = -1; r < s->ranks; ++r) {
        if (all[2 * r + 1] < 0) continue;
        good = good && all[2 * r] > last;
        last = all[2 * r + 1];
    }
    free(all);
    return good;
}

static int64_t sum_of_keys(const sorter *s) {
    int64_t mine = 0;
    int64_t all = 0;
    for (int i = 0; i < s->count; ++i) mine += s->keys[i];
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    sorter s = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    const int size_bits = argc > 1 ? atoi(argv[1]) : 20;
    const int iterations = argc > 2 ? atoi(argv[2]) : 10;
    s.key_bits = size_bits - key_bits_less;
    s.count = size_bits <= 30 ? (1 << size_bits) / s.ranks : 0;
    if (s.key_bits < bucket_bits || iterations < 1 || s.count < 2 * iterations) {
        if (s.rank == 0) fprintf(stderr, "use: integer_sort LOG2_KEYS(14..30) ITERATIONS\n");
        MPI_Finalize();
        return 2;
    }
    s.capacity = 2 * s.count;
    s.keys = malloc((size_t)s.count * sizeof(int));
    s.outgoing = malloc((size_t)s.count * sizeof(int));
    s.incoming = malloc((size_t)s.capacity * sizeof(int));
    int *ranks_of = malloc(sizeof(int) << s.key_bits);
    make_keys(&s);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 1; i <= iterations; ++i) {
        if (s.rank == 0) {
            s.keys[i] = i;
            s.keys[i + iterations] = (1 << s.key_bits) - i;
        }
        distribute(&s);
        rank_keys(&s, ranks_of);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begin;
    const int good = is_sorted(&s, ranks_of, sum_of_keys(&s));
    if (s.rank == 0) printf("%s, %.6f s\n", good ? "verified" : "NOT SORTED", seconds);
    free(ranks_of);
    free(s.incoming);
    free(s.outgoing);
    free(s.keys);
    MPI_Finalize();
    return good ? 0 : 1;
}
