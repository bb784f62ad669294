/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions that show the order of operands, compared bit by bit with what a rank computes by
 * itself in the bracketing of docs/same-bits.md from the numbers of all ranks: of types and by
 * operators that the library leaves to the MPI's arithmetic, and of some that it knows.  The world
 * is split in several ways, so that one launch tries every number of ranks up to its own.
 *
 * Rank 0 prints "KIND CALL N" where N elements of all ranks were wrong, at the end "checked N" with
 * the number of calls.  With the argument "requests" calls are nonblocking as well; with "whole"
 * too, but the world is not split; with another one neither, and only kinds are checked whose
 * names begin with it.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 6000, THRESHOLD_BYTES = 16384, SPLITS = 3, RANKS_MAX = 64 };

typedef struct {
    float scale, shift;
} affine;
typedef struct {
    double value;
    int index;
} located;

/* A number in [-1, 1) of 25 bits, the same wherever it is computed. */
static double number(int rank, int element, int part) {
    uint64_t bits = (uint64_t)(rank * 7919 + part + 1) * 2654435761u + (uint64_t)element * 40503u;
    bits = (bits * 6364136223846793005u + 1442695040888963407u) >> 20;
    return (double)(bits % 33554432u) / 16777216.0 - 1.0;
}

/* With an exponent that differs a lot between neighbouring ranks. */
static double wild(int rank, int element, int part) {
    return ldexp(number(rank, element, part), (rank * 37 + element) % 60 - 30);
}

static void give_double(void *to, int rank, int element) {
    *(double *)to = wild(rank, element, 0);
}
static void give_long(void *to, int rank, int element) {
    *(long double *)to = (long double)wild(rank, element, 0) + 1e-12L * wild(rank, element, 1);
}
static void give_long_factor(void *to, int rank, int element) {
    *(long double *)to = 1.0L + 1e-3L * number(rank, element, 0);
}
/* Among them a NaN with a payload and zeros of both signs. */
static void give_long_special(void *to, int rank, int element) {
    long double value = element % 3 == 0 ? number(rank, element, 0) : rank % 2 == 0 ? 0.0L : -0.0L;
    if (element % 3 == 1 && rank % 3 == 1) value = nanl("0x55");
    *(long double *)to = value;
}
static void give_long_complex(void *to, int rank, int element) {
    long double *parts = to;
    give_long(parts, rank, element);
    give_long(parts + 1, rank + 100, element);
}
static void give_double_complex(void *to, int rank, int element) {
    double *parts = to;
    parts[0] = wild(rank, element, 0);
    parts[1] = wild(rank, element, 1);
}
static void give_float_complex(void *to, int rank, int element) {
    float *parts = to;
    parts[0] = (float)(1.0 + number(rank, element, 0));
    parts[1] = (float)number(rank, element, 1);
}
static void give_located(void *to, int rank, int element) {
    located *one = to;
    one->value = element % 4 == 0 && rank % 3 == 2 ? (double)NAN
                 : element % 4 == 1                ? (rank % 2 == 0 ? 0.0 : -0.0)
                                                   : number(rank, element, 0);
    one->index = rank;
}
static void give_affine(void *to, int rank, int element) {
    affine *one = to;
    one->scale = (float)(1.0 + 0.25 * number(rank, element, 0));
    one->shift = (float)number(rank, element, 1);
}

/* Rounded, it is not associative, and it does not commute. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type) {
    const affine *left = in;
    affine *right = inout;
    (void)type;
    for (int i = 0; i < *count; ++i) {
        right[i].shift = left[i].shift * right[i].scale + right[i].shift;
        right[i].scale = left[i].scale * right[i].scale;
    }
}

/* Neither, though the program says that it commutes. */
static void forget(void *in, void *inout, int *count, MPI_Datatype *type) {
    const double *left = in;
    double *right = inout;
    (void)type;
    for (int i = 0; i < *count; ++i) right[i] = left[i] / 3 + right[i];
}

/* As docs/same-bits.md says; an MPI may round in another way. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type) {
    const float *a = in;
    float *b = inout;
    (void)type;
    for (int i = 0; i < 2 * *count; i += 2) {
        const float real = a[i] * b[i] - a[i + 1] * b[i + 1];
        b[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
        b[i] = real;
    }
}

/* What is reduced: elements of `piece` bytes, or two of these, `used` of which say something. */
struct kind {
    const char *name;
    void (*give)(void *to, int rank, int element);
    size_t bytes, piece, used;
    MPI_Datatype type;
    MPI_Op op, expected; /* `expected` is applied to two vectors alone */
};
enum { KINDS = 10 };

static int rank, ranks, world_rank;
static MPI_Comm comm;
static long calls;
static long wrong[KINDS][16];
static const char *const call_names[16] = {"allreduce",
                                           "reduce",
                                           "reduce_scatter",
                                           "reduce_scatter_block",
                                           "scan",
                                           "exscan",
                                           "splits",
                                           "in_place",
                                           "iallreduce",
                                           "ireduce",
                                           "ireduce_scatter_block",
                                           "iscan",
                                           "iexscan"};
static int kind_now;
static unsigned char *given, *got, *all, *upto, *before;

static void *take(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* What ranks 0 to n-1 have, in the balanced bracketing. */
static void combine_balanced(const struct kind *k, int n, unsigned char *to) {
    unsigned char *parts[RANKS_MAX] = {NULL}, *memory[RANKS_MAX];
    int left = n, pairs = n;
    for (int r = 0; r < n; ++r) {
        parts[r] = memory[r] = take(COUNT * k->bytes);
        for (int i = 0; i < COUNT; ++i) k->give(parts[r] + (size_t)i * k->bytes, r, i);
    }
    for (int power = 1; power <= n; power *= 2) pairs = n - power;
    while (left > 1) {
        for (int i = 0; i < pairs; ++i) {
            MPI_Reduce_local(parts[2 * i], parts[2 * i + 1], COUNT, k->type, k->expected);
            parts[i] = parts[2 * i + 1];
        }
        for (int i = 2 * pairs; i < left; ++i) parts[i - pairs] = parts[i];
        left -= pairs;
        pairs = left / 2;
    }
    memcpy(to, parts[0], COUNT * k->bytes);
    for (int r = 0; r < n; ++r) free(memory[r]);
}

static void compare(const struct kind *k, int call, const unsigned char *expected, int first,
                    int n) {
    const size_t pieces = k->bytes / k->piece;
    ++calls;
    for (int i = 0; i < n; ++i) {
        int differs = 0;
        for (size_t p = 0; p < pieces; ++p) {
            const size_t own = (size_t)i * k->bytes + p * k->piece;
            differs |= memcmp(got + own, expected + (size_t)first * k->bytes + own, k->used) != 0;
        }
        wrong[kind_now][call] += differs;
    }
}

static unsigned char *at(const struct kind *k, unsigned char *vector, int element) {
    return vector + (size_t)element * k->bytes;
}

/* All calls with vectors of n elements, from the one at `first` on. */
static void check_size(const struct kind *k, int first, int n) {
    unsigned char *mine = at(k, given, first);
    const int root = n % ranks, block = n / ranks;
    int counts[RANKS_MAX], offset = 0;
    MPI_Allreduce(mine, got, n, k->type, k->op, comm);
    compare(k, 0, all, first, n);
    MPI_Reduce(mine, got, n, k->type, k->op, root, comm);
    if (rank == root) compare(k, 1, all, first, n);

    for (int r = 0; r < ranks; ++r) {
        counts[r] = n * (r + 1) / ranks * (r + 1) / ranks - n * r / ranks * r / ranks;
        if (r < rank) offset += counts[r];
    }
    MPI_Reduce_scatter(mine, got, counts, k->type, k->op, comm);
    compare(k, 2, all, first + offset, counts[rank]);
    MPI_Reduce_scatter_block(mine, got, block, k->type, k->op, comm);
    compare(k, 3, all, first + rank * block, block);

    MPI_Scan(mine, got, n, k->type, k->op, comm);
    compare(k, 4, upto, first, n);
    MPI_Exscan(mine, got, n, k->type, k->op, comm);
    if (rank > 0) compare(k, 5, before, first, n);
    memcpy(got, mine, (size_t)n * k->bytes);
    MPI_Allreduce(MPI_IN_PLACE, got, n, k->type, k->op, comm);
    compare(k, 7, all, first, n);
}

static void check_requests(const struct kind *k, int first, int n) {
    unsigned char *mine = at(k, given, first);
    const int root = n % ranks, block = n / ranks;
    MPI_Request request;
    MPI_Iallreduce(mine, got, n, k->type, k->op, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    compare(k, 8, all, first, n);
    MPI_Ireduce(mine, got, n, k->type, k->op, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == root) compare(k, 9, all, first, n);
    MPI_Ireduce_scatter_block(mine, got, block, k->type, k->op, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    compare(k, 10, all, first + rank * block, block);
    MPI_Iscan(mine, got, n, k->type, k->op, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    compare(k, 11, upto, first, n);
    MPI_Iexscan(mine, got, n, k->type, k->op, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank > 0) compare(k, 12, before, first, n);
}

/* The whole vector in pieces of random lengths, by calls drawn at random; alike on all ranks. */
static void check_split(const struct kind *k, unsigned seed) {
    uint64_t state = 88172645463325252u + seed;
    for (int first = 0, n = 0; first < COUNT; first += n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const int longest = state % 32 == 0 ? COUNT : 97;
        n = 1 + (int)(state / 8 % (uint64_t)longest);
        if (n > COUNT - first) n = COUNT - first;
        if (state / 8 % 5 == 0) {
            const int root = (int)(state / 64 % (uint64_t)ranks);
            MPI_Reduce(at(k, given, first), got, n, k->type, k->op, root, comm);
            if (rank == root) compare(k, 6, all, first, n);
            continue;
        }
        MPI_Allreduce(at(k, given, first), got, n, k->type, k->op, comm);
        compare(k, 6, all, first, n);
    }
}

static void check_kind(const struct kind *k, int requests) {
    const int limit = (int)(THRESHOLD_BYTES / k->bytes);
    const int sizes[] = {1, 3, limit - 1, limit, limit + 1, COUNT};
    given = take(COUNT * k->bytes);
    got = take(COUNT * k->bytes);
    all = take(COUNT * k->bytes);
    upto = take(COUNT * k->bytes);
    before = take(COUNT * k->bytes);
    for (int i = 0; i < COUNT; ++i) k->give(at(k, given, i), rank, i);
    combine_balanced(k, ranks, all);
    combine_balanced(k, rank + 1, upto);
    if (rank > 0) combine_balanced(k, rank, before);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        check_size(k, s % 2 == 0 ? 0 : COUNT - sizes[s], sizes[s]);
        if (requests) check_requests(k, 0, sizes[s]);
    }
    for (unsigned seed = 1; seed <= SPLITS; ++seed) check_split(k, seed);
    free(given);
    free(got);
    free(all);
    free(upto);
    free(before);
}

static void check_kinds(const struct kind *kinds, const char *prefix, int requests) {
    for (kind_now = 0; kind_now < KINDS; ++kind_now) {
        const struct kind *k = &kinds[kind_now];
        if (strncmp(k->name, prefix, strlen(prefix)) == 0) check_kind(k, requests);
    }
}

int main(int argc, char **argv) {
    int world_ranks = 1;
    long in_all[KINDS][16] = {{0}}, calls_of_all = 0;
    MPI_Datatype pair;
    MPI_Op composed, forgetting, multiplied;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &composed);
    MPI_Op_create(forget, 1, &forgetting);
    MPI_Op_create(multiply, 1, &multiplied);
    struct kind kinds[KINDS] = {
        {"double", give_double, 8, 8, 8, MPI_DOUBLE, MPI_SUM, MPI_SUM},
        {"long_double", give_long, 16, 16, 10, MPI_LONG_DOUBLE, MPI_SUM, MPI_SUM},
        {"long_product", give_long_factor, 16, 16, 10, MPI_LONG_DOUBLE, MPI_PROD, MPI_PROD},
        {"long_maximum", give_long_special, 16, 16, 10, MPI_LONG_DOUBLE, MPI_MAX, MPI_MAX},
        {"long_complex", give_long_complex, 32, 16, 10, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM,
         MPI_SUM},
        {"cxx_complex", give_double_complex, 16, 16, 16, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, MPI_SUM},
        {"cxx_product", give_float_complex, 8, 8, 8, MPI_CXX_FLOAT_COMPLEX, MPI_PROD, multiplied},
        {"located", give_located, 16, 16, 12, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_MAXLOC},
        {"composed", give_affine, 8, 8, 8, pair, composed, composed},
        {"forgetting", give_double, 8, 8, 8, MPI_DOUBLE, forgetting, forgetting},
    };
    const int whole = argc > 1 && strcmp(argv[1], "whole") == 0;
    const int requests = whole || (argc > 1 && strcmp(argv[1], "requests") == 0);
    const char *prefix = argc > 1 && !requests ? argv[1] : "";
    /* Of n ranks into k and n - k. */
    for (int part = 0; part <= (*prefix || whole ? 0 : world_ranks / 2); ++part) {
        MPI_Comm_split(MPI_COMM_WORLD, world_rank < part, world_rank, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
        check_kinds(kinds, prefix, requests);
        MPI_Comm_free(&comm);
    }
    MPI_Reduce(wrong, in_all, KINDS * 16, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&calls, &calls_of_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int k = 0; world_rank == 0 && k < KINDS; ++k) {
        for (int call = 0; call < 16; ++call) {
            if (in_all[k][call] == 0) continue;
            printf("%s %s %ld\n", kinds[k].name, call_names[call], in_all[k][call]);
        }
    }
    if (world_rank == 0) printf("checked %ld\n", calls_of_all);
    MPI_Op_free(&composed);
    MPI_Op_free(&forgetting);
    MPI_Op_free(&multiplied);
    MPI_Type_free(&pair);
    return MPI_Finalize();
}
