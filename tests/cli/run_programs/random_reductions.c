/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions drawn at random, alike on all ranks: collective, type, operator, length, root, in
 * place or not, waited for or not, prepared or not, and the communicator, which is one of several
 * that are made and freed meanwhile.  Each result is compared bit by bit with what a rank computes
 * by itself from the numbers of all ranks, as docs/same-bits.md says: in the balanced bracketing
 * or, with the level "ranks", exactly in numbers of 113 bits.  Depending on the seed, the program
 * rounds upwards, or flushes subnormal numbers to zero.
 *
 *   random_reductions LEVEL SEED STEPS [THREADS]
 *
 * Rank 0 prints what was wrong first on each rank, and "checked N" with the number of results.
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "persistent_names.h"

enum { RANKS_MAX = 64, COMMS = 6, PENDING = 4, BYTES_MAX = 48, TEXT = 160, CANARY = 0x5a };

typedef _Float128 wide;
typedef struct {
    long double value;
    int index;
} long_located;
typedef struct {
    short value;
    int index;
} short_located;
/* Begins 8 bytes after the origin of its datatype, which has 8 bytes behind it, too. */
typedef struct {
    char origin[8];
    float scale;
    double shift;
    char tail[8];
} gapped;

static bool exact_level;
static int world_rank, world_ranks;

static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t hash(uint64_t seed, int element, int part, int rank) {
    return mixed(mixed(mixed(seed + (uint64_t)element) + (uint64_t)part) + (uint64_t)rank + 1);
}

/* The arithmetic of the program, and the usual one. */
#if defined(__x86_64__)
enum { UPWARDS = 0x4000, FLUSHED = 0x8040, USUAL = 0x1f80 };
static unsigned taken_mode = USUAL;
static void take_mode(unsigned mode) {
    _mm_setcsr(mode);
}
#else
enum { UPWARDS = 0, FLUSHED = 0, USUAL = 0 };
static unsigned taken_mode = USUAL;
static void take_mode(unsigned mode) {
    (void)mode;
}
#endif

/* Numbers of few bits, so that 113 are enough for sums and products of all ranks. */
struct format {
    int spread, least, largest, factor; /* of exponents */
};
static const struct format doubles = {80, -1040, 960, 110}, floats = {40, -140, 90, 13};

/* Some elements are tiny, huge or zero on all ranks; some numbers are no finite ones. */
static double addend(struct format of, uint64_t seed, int rank, int element, int part) {
    const uint64_t all = hash(seed, element, part, -1), own = hash(seed, element, part, rank);
    const int base = all % 7 == 0 ? of.least : all % 7 == 1 ? of.largest : 0;
    const double mantissa = (double)(own % 33554432) - 16777216.0;
    if (all % 11 == 2) return all % 22 == 2 || own % 2 == 0 ? -0.0 : 0.0;
    if (own % 97 == 0) return -nan("0x123");
    if (own % 97 == 1) return own % 2 == 0 ? (double)INFINITY : -(double)INFINITY;
    return ldexp(mantissa, (int)(own >> 32) % of.spread / 2 + base);
}

static double factor(struct format of, uint64_t seed, int rank, int element, int part) {
    const uint64_t all = hash(seed, element, part, -1), own = hash(seed, element, part, rank);
    const int base = all % 5 == 0 ? of.factor : all % 5 == 1 ? -of.factor : 0;
    const double mantissa = (double)(129 + own % 127);
    if (own % 197 == 0) return own % 394 == 0 ? (double)NAN : -(double)INFINITY;
    if (own % 197 == 1) return -0.0;
    return ldexp(own >> 63 ? mantissa : -mantissa, (int)(own >> 40) % 4 - 8 + base);
}

#define GIVE(name, real, how, format, parts)                             \
    static void name(void *to, uint64_t seed, int rank, int element) {   \
        for (int p = 0; p < (parts); ++p) {                              \
            ((real *)to)[p] = (real)how(format, seed, rank, element, p); \
        }                                                                \
    }
GIVE(give_double, double, addend, doubles, 1)
GIVE(give_float, float, addend, floats, 1)
GIVE(give_complex, double, addend, doubles, 2)
GIVE(give_float_complex, float, addend, floats, 2)
GIVE(give_double_factor, double, factor, doubles, 1)
GIVE(give_float_factor, float, factor, floats, 1)

/* Both parts have few bits and one exponent, since parts of a product are added. */
static void give_complex_factor(void *to, uint64_t seed, int rank, int element) {
    const uint64_t all = hash(seed, element, 0, -1);
    const int base = all % 5 == 0 ? doubles.factor : all % 5 == 1 ? -doubles.factor : 0;
    for (int p = 0; p < 2; ++p) {
        const uint64_t own = hash(seed, element, p, rank);
        double *part = (double *)to + p;
        *part = ldexp((double)(own % 63) - 31.0, base);
        if (own % 397 == 0) *part = own % 2 == 0 ? (double)NAN : -(double)INFINITY;
    }
}

static void give_integer(void *to, uint64_t seed, int rank, int element) {
    *(int *)to = (int)(hash(seed, element, 0, rank) >> 40);
}
static void give_bool(void *to, uint64_t seed, int rank, int element) {
    *(bool *)to = hash(seed, element, 0, rank) % 4 == 0;
}
static void give_long(void *to, uint64_t seed, int rank, int element) {
    const uint64_t own = hash(seed, element, 0, rank);
    *(long double *)to = ldexpl((long double)(int64_t)own, (int)(own % 80) - 40);
}
static void give_long_complex(void *to, uint64_t seed, int rank, int element) {
    give_long(to, seed, rank, element);
    give_long((long double *)to + 1, seed + 1, rank, element);
}
static void give_long_located(void *to, uint64_t seed, int rank, int element) {
    long_located *one = to;
    one->value = 1.0L + (long double)(hash(seed, element, 0, rank) % 3);
    one->index = rank;
}
static void give_short_located(void *to, uint64_t seed, int rank, int element) {
    short_located *one = to;
    one->value = (short)(hash(seed, element, 0, rank) % 3);
    one->index = rank;
}
static void give_affine(void *to, uint64_t seed, int rank, int element) {
    float *one = to;
    one[0] = 1.0f + 0.25f * (float)(hash(seed, element, 0, rank) % 1048573) / 1048573.0f;
    one[1] = (float)(hash(seed, element, 1, rank) % 1048573) / 1048573.0f - 0.5f;
}
static void give_gapped(void *to, uint64_t seed, int rank, int element) {
    float pair[2];
    give_affine(pair, seed, rank, element);
    ((gapped *)to)->scale = pair[0];
    ((gapped *)to)->shift = (double)pair[1] / 3;
}

/* What a NaN becomes. */
static double double_of(double value) {
    return isnan(value) ? (double)NAN : value;
}
static float float_of(float value) {
    return isnan(value) ? NAN : value;
}

#define JOIN(name, type, parts, expression)           \
    static void name(const void *left, void *right) { \
        for (int p = 0; p < (parts); ++p) {           \
            const type a = ((const type *)left)[p];   \
            const type b = ((type *)right)[p];        \
            ((type *)right)[p] = (expression);        \
        }                                             \
    }
#define LARGER(a, b) \
    (isnan(a) || isnan(b) ? NAN : (a) == (b) ? (signbit(a) ? (b) : (a)) : (a) > (b) ? (a) : (b))
#define SMALLER(a, b) \
    (isnan(a) || isnan(b) ? NAN : (a) == (b) ? (signbit(a) ? (a) : (b)) : (a) < (b) ? (a) : (b))
JOIN(add_double, double, 1, double_of(a + b))
JOIN(add_float, float, 1, float_of(a + b))
JOIN(add_complex, double, 2, double_of(a + b))
JOIN(add_float_complex, float, 2, float_of(a + b))
JOIN(multiply_double, double, 1, double_of(a *b))
JOIN(multiply_float, float, 1, float_of(a *b))
JOIN(larger_double, double, 1, LARGER(a, b))
JOIN(smaller_float, float, 1, SMALLER(a, b))
JOIN(add_integer, int, 1, (int)((unsigned)a + (unsigned)b))
JOIN(either, bool, 1, a || b)
JOIN(add_long, long double, 1, a + b)
JOIN(multiply_long, long double, 1, a *b)
JOIN(add_long_complex, long double, 2, a + b)

static void multiply_complex(const void *left, void *right) {
    const double *a = left;
    double *b = right;
    const double real = a[0] * b[0] - a[1] * b[1];
    b[1] = double_of(a[0] * b[1] + a[1] * b[0]);
    b[0] = double_of(real);
}
static void least_long(const void *left, void *right) {
    const long_located *a = left;
    long_located *b = right;
    if (a->value < b->value || (a->value == b->value && a->index < b->index)) *b = *a;
}
static void most_short(const void *left, void *right) {
    const short_located *a = left;
    short_located *b = right;
    if (a->value > b->value || (a->value == b->value && a->index < b->index)) *b = *a;
}
/* None associates in floating point, nor commutes; the second is said to commute. */
static void compose(const void *left, void *right) {
    const float *a = left;
    float *b = right;
    b[1] = a[1] * b[0] + b[1];
    b[0] = a[0] * b[0];
}
static void compose_gapped(const void *left, void *right) {
    const gapped *a = left;
    gapped *b = right;
    b->shift = a->shift / 3 + b->shift;
    b->scale = a->scale / 7 + b->scale;
}

#define OPERATOR(name, join, type)                                                \
    static void name(void *in, void *inout, int *count, MPI_Datatype *datatype) { \
        (void)datatype;                                                           \
        for (int i = 0; i < *count; ++i) join((type *)in + i, (type *)inout + i); \
    }
typedef struct {
    float parts[2];
} affine;
OPERATOR(compose_many, compose, affine)
OPERATOR(compose_many_gapped, compose_gapped, gapped)
/* The second part of an element lies behind the first one of the next. */
enum { APART = 3 };
static void compose_many_interleaved(void *in, void *inout, int *count, MPI_Datatype *datatype) {
    (void)datatype;
    for (int i = 0; i < *count; ++i) {
        const float *a = (const float *)in + 2 * i;
        float *b = (float *)inout + 2 * i;
        const affine left = {{a[0], a[APART]}};
        affine right = {{b[0], b[APART]}};
        compose(&left, &right);
        b[0] = right.parts[0];
        b[APART] = right.parts[1];
    }
}

#define EXACT(name, real, to_real, parts, start, operation)             \
    static void name(const unsigned char *all, int n, void *to) {       \
        for (int p = 0; p < (parts); ++p) {                             \
            wide result = (start);                                      \
            for (int r = 0; r < n; ++r) {                               \
                const wide next = ((const real *)all)[r * (parts) + p]; \
                result = r == 0 ? next : result operation next;         \
            }                                                           \
            ((real *)to)[p] = to_real((real)result);                    \
        }                                                               \
    }
EXACT(exact_double_sum, double, double_of, 1, 0, +)
EXACT(exact_float_sum, float, float_of, 1, 0, +)
EXACT(exact_complex_sum, double, double_of, 2, 0, +)
EXACT(exact_float_complex_sum, float, float_of, 2, 0, +)
EXACT(exact_double_product, double, double_of, 1, 1, *)
EXACT(exact_float_product, float, float_of, 1, 1, *)

/* Zero is +0, and what is no number makes both parts NaN. */
static void exact_complex_product(const unsigned char *all, int n, void *to) {
    const double *factors = (const double *)all;
    double *parts = to;
    wide a = 1, b = 0;
    bool finite = true;
    for (int r = 0; r < n; ++r) {
        const wide c = factors[2 * r], d = factors[2 * r + 1], real = a * c - b * d;
        b = a * d + b * c;
        a = real;
        finite = finite && isfinite(factors[2 * r]) && isfinite(factors[2 * r + 1]);
    }
    if (!finite) {
        parts[0] = parts[1] = double_of((double)NAN);
        return;
    }
    parts[0] = a == 0 ? 0.0 : (double)a;
    parts[1] = b == 0 ? 0.0 : (double)b;
}

static void same_double(const unsigned char *all, int n, void *to) {
    double result = double_of(*(const double *)all);
    for (int r = 1; r < n; ++r) larger_double((const double *)all + r, &result);
    *(double *)to = result;
}
static void same_float(const unsigned char *all, int n, void *to) {
    float result = float_of(*(const float *)all);
    for (int r = 1; r < n; ++r) smaller_float((const float *)all + r, &result);
    *(float *)to = result;
}

/* What is reduced: `bytes` apart; two runs of bytes that say something. In a vector the second one
   may lie so many bytes `over` the next elements, between their two. */
struct kind {
    const char *name;
    size_t bytes;
    struct {
        size_t begin, size;
    } used[2];
    void (*give)(void *to, uint64_t seed, int rank, int element);
    void (*join)(const void *left, void *right);
    void (*exact)(const unsigned char *all, int n, void *to); /* null: as with the level order */
    bool in_mode; /* computed in the program's arithmetic */
    MPI_Datatype type;
    MPI_Op op;
    size_t over;
};

/* Those whose types or operators are made when the program runs stand last. */
enum {
    AFFINE = 16,
    GAPPED,
    INTERLEAVED,
    OWN_DOUBLE,
    OWN_COMPLEX,
    OWN_FLOAT,
    OWN_FLOAT_COMPLEX,
    OWN_INTEGER,
    KINDS
};
static struct kind kinds[KINDS];

static void make_kinds(void) {
    const struct kind known[KINDS] = {
#define REAL(bytes, give, join, exact) bytes, {{0, bytes}}, give, join, exact, false
#define OTHER(bytes, used, give, join) bytes, {{0, used}}, give, join, NULL, false
        {"double sum", REAL(8, give_double, add_double, exact_double_sum), MPI_DOUBLE, MPI_SUM},
        {"float sum", REAL(4, give_float, add_float, exact_float_sum), MPI_FLOAT, MPI_SUM},
        {"complex sum", REAL(16, give_complex, add_complex, exact_complex_sum),
         MPI_C_DOUBLE_COMPLEX, MPI_SUM},
        {"float complex sum",
         REAL(8, give_float_complex, add_float_complex, exact_float_complex_sum),
         MPI_C_FLOAT_COMPLEX, MPI_SUM},
        {"double product", REAL(8, give_double_factor, multiply_double, exact_double_product),
         MPI_DOUBLE, MPI_PROD},
        {"float product", REAL(4, give_float_factor, multiply_float, exact_float_product),
         MPI_FLOAT, MPI_PROD},
        {"complex product", REAL(16, give_complex_factor, multiply_complex, exact_complex_product),
         MPI_C_DOUBLE_COMPLEX, MPI_PROD},
        {"double maximum", REAL(8, give_double, larger_double, same_double), MPI_DOUBLE, MPI_MAX},
        {"float minimum", REAL(4, give_float, smaller_float, same_float), MPI_FLOAT, MPI_MIN},
        {"integer sum", OTHER(4, 4, give_integer, add_integer), MPI_INT, MPI_SUM},
        {"bool or", OTHER(sizeof(bool), sizeof(bool), give_bool, either), MPI_C_BOOL, MPI_LOR},
        {"long double sum", OTHER(16, 10, give_long, add_long), MPI_LONG_DOUBLE, MPI_SUM},
        {"long double product", OTHER(16, 10, give_long, multiply_long), MPI_LONG_DOUBLE, MPI_PROD},
        {"long complex sum",
         32,
         {{0, 10}, {16, 10}},
         give_long_complex,
         add_long_complex,
         NULL,
         false,
         MPI_C_LONG_DOUBLE_COMPLEX,
         MPI_SUM},
        {"long double minloc",
         sizeof(long_located),
         {{0, 10}, {16, 4}},
         give_long_located,
         least_long,
         NULL,
         false,
         MPI_LONG_DOUBLE_INT,
         MPI_MINLOC},
        {"short maxloc",
         sizeof(short_located),
         {{0, 2}, {4, 4}},
         give_short_located,
         most_short,
         NULL,
         false,
         MPI_SHORT_INT,
         MPI_MAXLOC},
        [AFFINE] = {"affine",
                    8,
                    {{0, 8}},
                    give_affine,
                    compose,
                    NULL,
                    true,
                    MPI_DATATYPE_NULL,
                    MPI_OP_NULL},
        [GAPPED] = {"gapped",
                    sizeof(gapped),
                    {{8, 4}, {16, 8}},
                    give_gapped,
                    compose_gapped,
                    NULL,
                    true,
                    MPI_DATATYPE_NULL,
                    MPI_OP_NULL},
        [INTERLEAVED] = {"interleaved",
                         8,
                         {{0, 4}, {4, 4}},
                         give_affine,
                         compose,
                         NULL,
                         true,
                         MPI_DATATYPE_NULL,
                         MPI_OP_NULL,
                         8},
        [OWN_DOUBLE] = {"own double", REAL(8, give_double, add_double, exact_double_sum),
                        MPI_DATATYPE_NULL, MPI_SUM},
        [OWN_COMPLEX] = {"own complex", REAL(16, give_complex, add_complex, exact_complex_sum),
                         MPI_DATATYPE_NULL, MPI_SUM},
        [OWN_FLOAT] = {"own float", REAL(4, give_float, add_float, exact_float_sum),
                       MPI_DATATYPE_NULL, MPI_SUM},
        [OWN_FLOAT_COMPLEX] = {"own float complex",
                               REAL(8, give_float_complex, add_float_complex,
                                    exact_float_complex_sum),
                               MPI_DATATYPE_NULL, MPI_SUM},
        [OWN_INTEGER] = {"own integer", OTHER(4, 4, give_integer, add_integer), MPI_DATATYPE_NULL,
                         MPI_SUM},
    };
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {8, 16};
    const MPI_Datatype types[] = {MPI_FLOAT, MPI_DOUBLE};
    MPI_Datatype fields;
    memcpy(kinds, known, sizeof known);
    MPI_Type_contiguous(2, MPI_FLOAT, &kinds[AFFINE].type);
    MPI_Type_commit(&kinds[AFFINE].type);
    MPI_Op_create(compose_many, 0, &kinds[AFFINE].op);
    MPI_Type_create_struct(2, lengths, places, types, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(gapped), &kinds[GAPPED].type);
    MPI_Type_commit(&kinds[GAPPED].type);
    MPI_Type_free(&fields);
    MPI_Op_create(compose_many_gapped, 1, &kinds[GAPPED].op);
    MPI_Type_vector(2, 1, APART, MPI_FLOAT, &fields);
    MPI_Type_create_resized(fields, 0, 2 * sizeof(float), &kinds[INTERLEAVED].type);
    MPI_Type_commit(&kinds[INTERLEAVED].type);
    MPI_Type_free(&fields);
    MPI_Op_create(compose_many_interleaved, 0, &kinds[INTERLEAVED].op);
    MPI_Type_create_f90_real(15, 307, &kinds[OWN_DOUBLE].type);
    MPI_Type_create_f90_complex(15, 307, &kinds[OWN_COMPLEX].type);
    MPI_Type_create_f90_real(6, 30, &kinds[OWN_FLOAT].type);
    MPI_Type_create_f90_complex(6, 30, &kinds[OWN_FLOAT_COMPLEX].type);
    MPI_Type_create_f90_integer(9, &kinds[OWN_INTEGER].type);
}

/* The types of a precision and a range belong to the MPI. */
static void free_kinds(void) {
    for (int k = AFFINE; k <= INTERLEAVED; ++k) {
        MPI_Type_free(&kinds[k].type);
        MPI_Op_free(&kinds[k].op);
    }
}

static size_t vector_bytes(const struct kind *kind, int count) {
    return count == 0 ? 0 : (size_t)count * kind->bytes + kind->over;
}

/* Element i of a vector, as it lies by itself; and back. */
static void take_out(const struct kind *kind, const unsigned char *vector, int i,
                     unsigned char *element) {
    const unsigned char *from = vector + (size_t)i * kind->bytes;
    memcpy(element, from, kind->over ? kind->used[0].size : kind->bytes);
    if (!kind->over) return;
    memcpy(element + kind->used[1].begin, from + kind->used[1].begin + kind->over,
           kind->used[1].size);
}

static void put_in(const struct kind *kind, const unsigned char *element, unsigned char *vector,
                   int i) {
    unsigned char *to = vector + (size_t)i * kind->bytes;
    memcpy(to, element, kind->over ? kind->used[0].size : kind->bytes);
    if (!kind->over) return;
    memcpy(to + kind->used[1].begin + kind->over, element + kind->used[1].begin,
           kind->used[1].size);
}

enum call { ALLREDUCE, REDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, CALLS };
enum form { BLOCKING, STARTED, PREPARED, FORMS };
static const char *const call_names[] = {
    "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};
static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};

/* A communicator, and the ranks of the world that it consists of. */
struct members {
    MPI_Comm comm;
    int rank, ranks;
    int of_world[RANKS_MAX];
};

/* A call under way. */
struct job {
    const struct kind *kind;
    enum call call;
    enum form form;
    struct members on;
    uint64_t seed;
    int count, root, step;
    bool in_place;
    int counts[RANKS_MAX];
    unsigned char *given, *got; /* with a canary at their ends */
    size_t given_bytes, got_bytes;
    MPI_Request request;
};

/* What a thread does, on communicators of its own. */
struct thread {
    uint64_t state, own_state; /* of what is drawn alike on all ranks, and otherwise */
    int steps;
    bool makes_communicators;
    struct members comms[COMMS];
    struct job pending[PENDING];
    long checked, wrong;
    char first_wrong[TEXT];
};

static uint64_t draw(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mixed(*state);
}

static int drawn(struct thread *t, int below) {
    return (int)(draw(&t->state) % (uint64_t)below);
}

static void *take(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(memory, CANARY, bytes + 1);
    return memory;
}

static struct members members_of(MPI_Comm comm) {
    struct members made = {.comm = comm};
    int numbers[RANKS_MAX];
    MPI_Group group, world;
    if (comm == MPI_COMM_NULL) return made;
    MPI_Comm_rank(comm, &made.rank);
    MPI_Comm_size(comm, &made.ranks);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int r = 0; r < made.ranks; ++r) numbers[r] = r;
    MPI_Group_translate_ranks(group, made.ranks, numbers, world, made.of_world);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    return made;
}

/* The elements that rank `of` of the call gets, and where they begin in the vector. */
static int result_count(const struct job *job, int of, int *first) {
    *first = 0;
    if (job->call == REDUCE) return of == job->root ? job->count : 0;
    if (job->call == EXSCAN) return of > 0 ? job->count : 0;
    if (job->call != REDUCE_SCATTER && job->call != REDUCE_SCATTER_BLOCK) return job->count;
    for (int r = 0; r < of; ++r) *first += job->counts[r];
    return job->counts[of];
}

/* Combines n parts that lie one after the other into the first. */
static void fold(const struct kind *kind, unsigned char *parts, int n) {
    int power = 1;
    while (2 * power <= n) power *= 2;
    for (int pairs = n - power; n > 1; pairs = n / 2) {
        for (int i = 0; i < pairs; ++i) {
            unsigned char *right = parts + (size_t)(2 * i + 1) * kind->bytes;
            kind->join(right - kind->bytes, right);
            memmove(parts + (size_t)i * kind->bytes, right, kind->bytes);
        }
        memmove(parts + (size_t)pairs * kind->bytes, parts + (size_t)(2 * pairs) * kind->bytes,
                (size_t)(n - 2 * pairs) * kind->bytes);
        n -= pairs;
    }
}

static void expect(const struct job *job, int element, unsigned char *to) {
    _Alignas(16) unsigned char parts[RANKS_MAX * BYTES_MAX] = {0};
    const struct kind *kind = job->kind;
    const bool scans = job->call == SCAN || job->call == EXSCAN;
    const int n = job->call == SCAN ? job->on.rank + 1 : scans ? job->on.rank : job->on.ranks;
    for (int r = 0; r < n; ++r) {
        kind->give(parts + (size_t)r * kind->bytes, job->seed, job->on.of_world[r], element);
    }
    if (exact_level && kind->exact && !scans) {
        kind->exact(parts, n, to);
        return;
    }
    if (kind->in_mode) take_mode(taken_mode);
    fold(kind, parts, n);
    take_mode(USUAL);
    memcpy(to, parts, kind->bytes);
}

static void note(struct thread *t, const struct job *job, const char *what, int element) {
    if (t->wrong++ > 0) return;
    snprintf(t->first_wrong, TEXT, "step %d rank %d of %d: %s %s %s%s count %d root %d: %s %d",
             job->step, job->on.rank, job->on.ranks, form_names[job->form], job->kind->name,
             call_names[job->call], job->in_place ? " in place" : "", job->count, job->root, what,
             element);
}

static void give_all(struct job *job) {
    int all = job->count;
    take_mode(USUAL);
    if (job->call == REDUCE_SCATTER || job->call == REDUCE_SCATTER_BLOCK) {
        all = 0;
        for (int r = 0; r < job->on.ranks; ++r) all += job->counts[r];
    }
    unsigned char *to = job->in_place ? job->got : job->given;
    for (int i = 0; i < all; ++i) {
        _Alignas(16) unsigned char own[BYTES_MAX];
        memset(own, CANARY, sizeof own);
        job->kind->give(own, job->seed, world_rank, i);
        put_in(job->kind, own, to, i);
    }
    take_mode(taken_mode);
}

/* What was sent is as it was; nothing is behind the result. */
static void check_surroundings(struct thread *t, const struct job *job) {
    _Alignas(16) unsigned char own[BYTES_MAX], given[BYTES_MAX];
    const size_t bytes = job->kind->bytes;
    const int count = (int)((job->given_bytes - (job->given_bytes ? job->kind->over : 0)) / bytes);
    if (job->given[job->given_bytes] != CANARY) note(t, job, "byte behind what is sent", 0);
    if (job->got[job->got_bytes] != CANARY) note(t, job, "byte behind the result", 0);
    for (int i = 0; !job->in_place && i < count; ++i) {
        memset(own, CANARY, sizeof own);
        job->kind->give(own, job->seed, world_rank, i);
        take_out(job->kind, job->given, i, given);
        if (memcmp(own, given, bytes)) note(t, job, "sent element", i);
    }
}

static void check(struct thread *t, const struct job *job) {
    _Alignas(16) unsigned char expected[BYTES_MAX], one[BYTES_MAX];
    int first = 0;
    const int n = result_count(job, job->on.rank, &first);
    take_mode(USUAL);
    check_surroundings(t, job);
    for (int i = 0; i < n; ++i) {
        bool differs = false;
        take_out(job->kind, job->got, i, one);
        expect(job, first + i, expected);
        for (int u = 0; u < 2; ++u) {
            const size_t begin = job->kind->used[u].begin;
            differs |= memcmp(one + begin, expected + begin, job->kind->used[u].size) != 0;
        }
        if (differs) note(t, job, "element", i);
    }
    ++t->checked;
    take_mode(taken_mode);
}

#define MAKE(name, ...)                                             \
    (job->form == BLOCKING ? MPI_##name(__VA_ARGS__, job->on.comm)  \
     : job->form == STARTED                                         \
         ? MPI_I##name##_(__VA_ARGS__, job->on.comm, &job->request) \
         : MPI_##name##_init(__VA_ARGS__, job->on.comm, MPI_INFO_NULL, &job->request))
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IReduce_scatter_ MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block
#define MPI_IScan_ MPI_Iscan
#define MPI_IExscan_ MPI_Iexscan

static int call(struct job *job) {
    const void *send = job->in_place ? MPI_IN_PLACE : job->given;
    void *got = job->call == REDUCE && job->on.rank != job->root ? NULL : job->got;
    const MPI_Datatype type = job->kind->type;
    const MPI_Op op = job->kind->op;
    switch (job->call) {
        case ALLREDUCE: return MAKE(Allreduce, send, got, job->count, type, op);
        case REDUCE: return MAKE(Reduce, send, got, job->count, type, op, job->root);
        case REDUCE_SCATTER: return MAKE(Reduce_scatter, send, got, job->counts, type, op);
        case REDUCE_SCATTER_BLOCK:
            return MAKE(Reduce_scatter_block, send, got, job->counts[0], type, op);
        case SCAN: return MAKE(Scan, send, got, job->count, type, op);
        default: return MAKE(Exscan, send, got, job->count, type, op);
    }
}

/* Most are short; some lie around the lengths at which algorithms change. */
static int drawn_count(struct thread *t, const struct kind *kind) {
    static const int limits[] = {2048, 16384, 16384, 65536, 262144};
    const int turn = drawn(t, 12), length = drawn(t, 700), around = drawn(t, 3) - 1;
    const int limit = limits[drawn(t, 5)] / (int)kind->bytes + around;
    if (turn < 2) return turn;
    return turn == 11 ? limit : turn > 8 ? length : length % 20;
}

/* Draws a call. What is drawn does not depend on this rank or the communicator's. */
static struct job drawn_job(struct thread *t, int step) {
    const int place = drawn(t, COMMS);
    struct job job = {.kind = &kinds[drawn(t, KINDS)], .step = step, .request = MPI_REQUEST_NULL};
    job.call = (enum call)drawn(t, CALLS);
    job.form = (enum form)(drawn(t, 5) * FORMS / 5);
    job.count = drawn_count(t, job.kind);
    job.in_place = drawn(t, 4) == 0;
    job.seed = draw(&t->state);
    const uint64_t root = draw(&t->state);
    job.on = t->comms[place];
    if (job.on.comm == MPI_COMM_NULL) return job;
    job.root = (int)(root % (uint64_t)job.on.ranks);
    for (int r = 0; r < job.on.ranks; ++r) {
        const int all = job.count / job.on.ranks;
        const uint64_t length = hash(job.seed, r, 0, 0);
        job.counts[r] = job.call == REDUCE_SCATTER_BLOCK ? all
                        : length % 3 == 0                ? 0
                                                         : (int)(length % (uint64_t)(2 * all + 2));
    }
    if (job.call == REDUCE && job.on.rank != job.root) job.in_place = false;
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
    /* MPICH 4.0 itself ends a program where another rank than 0 is the root and reduces more than
       2 KiB in place. */
    if (job.call == REDUCE && job.root != 0) job.in_place = false;
#endif
    return job;
}

static void take_buffers(struct job *job) {
    int first = 0, all = job->count;
    if (job->call == REDUCE_SCATTER || job->call == REDUCE_SCATTER_BLOCK) {
        all = 0;
        for (int r = 0; r < job->on.ranks; ++r) all += job->counts[r];
    }
    const int results = job->call == EXSCAN ? all : result_count(job, job->on.rank, &first);
    job->given_bytes = vector_bytes(job->kind, job->in_place ? 0 : all);
    job->got_bytes = vector_bytes(job->kind, job->in_place ? all : results);
    job->given = take(job->given_bytes);
    job->got = take(job->got_bytes);
}

static void end(struct thread *t, struct job *job) {
    if (!job->kind) return;
    if (job->form != BLOCKING) {
        int done = 0;
        while (draw(&t->own_state) % 4 != 0 && !done) {
            MPI_Test(&job->request, &done, MPI_STATUS_IGNORE);
        }
        if (!done) MPI_Wait(&job->request, MPI_STATUS_IGNORE);
    }
    check(t, job);
    if (job->form == PREPARED) {
        job->seed += 1;
        give_all(job);
        MPI_Start(&job->request);
        MPI_Wait(&job->request, MPI_STATUS_IGNORE);
        check(t, job);
        MPI_Request_free(&job->request);
    }
    free(job->given);
    free(job->got);
    job->kind = NULL;
}

/* Ranks wait for what is under way in different orders, except for what is started once more. */
static void end_all(struct thread *t) {
    const uint64_t first = draw(&t->own_state);
    for (uint64_t i = 0; i < PENDING; ++i) {
        struct job *job = &t->pending[(first + i) % PENDING];
        if (job->form == STARTED) end(t, job);
    }
    for (int i = 0; i < PENDING; ++i) end(t, &t->pending[i]);
}

static void reduce(struct thread *t, int step) {
    struct job job = drawn_job(t, step);
    struct job *kept = &t->pending[drawn(t, PENDING)];
    end(t, kept);
    if (job.on.comm == MPI_COMM_NULL) return;
    take_buffers(&job);
    give_all(&job);
    *kept = job;
    const int code = call(kept);
    if (code != MPI_SUCCESS) note(t, kept, "error", code);
    if (kept->form == PREPARED) MPI_Start(&kept->request);
    if (kept->form == BLOCKING) end(t, kept);
}

/* A communicator made of another one in one of the ways of MPI. */
static MPI_Comm made_from(const struct members *from, int how) {
    const int once = 1, next = (from->rank + 1) % from->ranks, weights[] = {1}, keep[] = {0, 1};
    const int before = (from->rank + from->ranks - 1) % from->ranks, lower = from->rank % 2 == 0;
    int sides[] = {from->ranks % 2 == 0 ? 2 : 1, 0}, loops[] = {0, 1};
    MPI_Comm made = MPI_COMM_NULL, other = MPI_COMM_NULL, between = MPI_COMM_NULL;
    MPI_Group group, part;
    MPI_Request request;
    switch (how) {
        case 0: MPI_Comm_dup(from->comm, &made); return made;
        case 1: MPI_Comm_split(from->comm, 0, -from->rank, &made); return made;
        case 2: MPI_Comm_split(from->comm, from->rank % 3 == 0, from->rank / 2, &made); return made;
        case 3:
            MPI_Comm_group(from->comm, &group);
            MPI_Group_excl(group, from->ranks > 1 ? 1 : 0, &once, &part);
            if (from->ranks == 1 || from->rank != once) {
                MPI_Comm_create_group(from->comm, part, 7, &made);
            }
            MPI_Group_free(&group);
            MPI_Group_free(&part);
            return made;
        case 4:
            sides[1] = from->ranks / sides[0];
            MPI_Cart_create(from->comm, 2, sides, loops, 0, &other);
            MPI_Cart_sub(other, keep, &made);
            MPI_Comm_free(&other);
            return made;
        case 5:
            /* From a duplicate, for a reason that early_requests.c gives. */
            MPI_Comm_dup(from->comm, &other);
            MPI_Dist_graph_create_adjacent(other, 1, &before, weights, 1, &next, weights,
                                           MPI_INFO_NULL, 0, &made);
            MPI_Comm_free(&other);
            return made;
        case 6:
            MPI_Comm_idup(from->comm, &made, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            /* Before MPICH 4.3, its ranks agree in the first blocking call. */
            MPI_Barrier(made);
            return made;
        default:
            if (from->ranks == 1) return MPI_COMM_NULL;
            MPI_Comm_split(from->comm, lower, from->rank, &other);
            MPI_Intercomm_create(other, 0, from->comm, lower ? 1 : 0, 3, &between);
            MPI_Intercomm_merge(between, lower, &made);
            MPI_Comm_free(&between);
            MPI_Comm_free(&other);
            return made;
    }
}

/* Replaces a communicator by a new one; requests that are prepared on it are ended before. */
static void renew(struct thread *t) {
    const int from = drawn(t, COMMS), place = 1 + drawn(t, COMMS - 1), how = drawn(t, 8);
    MPI_Comm made = MPI_COMM_NULL;
    if (t->comms[from].comm != MPI_COMM_NULL) made = made_from(&t->comms[from], how);
    end_all(t);
    if (t->comms[place].comm != MPI_COMM_NULL) MPI_Comm_free(&t->comms[place].comm);
    t->comms[place] = members_of(made);
}

static void *work(void *given) {
    struct thread *t = given;
    take_mode(taken_mode);
    for (int step = 0; step < t->steps; ++step) {
        if (t->makes_communicators && drawn(t, 12) == 0)
            renew(t);
        else
            reduce(t, step);
    }
    end_all(t);
    take_mode(USUAL);
    return NULL;
}

static struct thread *prepared_thread(uint64_t seed, int number, int steps, bool alone) {
    struct thread *t = calloc(1, sizeof *t);
    if (!t) MPI_Abort(MPI_COMM_WORLD, 1);
    t->state = mixed(seed * 1000 + (uint64_t)number);
    t->own_state = t->state + (uint64_t)world_rank + 1;
    t->steps = steps;
    t->makes_communicators = alone;
    for (int c = 0; c < COMMS; ++c) {
        MPI_Comm made = MPI_COMM_NULL;
        if (c % 3 == 0) MPI_Comm_dup(MPI_COMM_WORLD, &made);
        if (c % 3 == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made);
        if (c % 3 == 2) MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &made);
        t->comms[c] = members_of(made);
    }
    return t;
}

static void report(struct thread **threads, int count) {
    static char all[RANKS_MAX * TEXT];
    long checked = 0, checked_by_all = 0;
    for (int n = 0; n < count; ++n) {
        MPI_Gather(threads[n]->first_wrong, TEXT, MPI_CHAR, all, TEXT, MPI_CHAR, 0, MPI_COMM_WORLD);
        for (int r = 0; world_rank == 0 && r < world_ranks; ++r) {
            if (all[r * TEXT]) printf("%s\n", all + r * TEXT);
        }
        checked += threads[n]->checked;
    }
    MPI_Reduce(&checked, &checked_by_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (world_rank == 0) printf("checked %ld\n", checked_by_all);
}

int main(int argc, char **argv) {
    static const unsigned modes[] = {USUAL, USUAL | UPWARDS, USUAL | FLUSHED};
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const int steps = argc > 3 ? atoi(argv[3]) : 100, count = argc > 4 ? atoi(argv[4]) : 1;
    struct thread *threads[16];
    pthread_t running[16];
    int provided = 0;
    if (argc < 2 || count < 1 || count > 16) return 2;
    MPI_Init_thread(&argc, &argv, count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (count > 1 && provided < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    exact_level = strcmp(argv[1], "ranks") == 0;
    taken_mode = modes[seed % 3];
    make_kinds();
    for (int n = 0; n < count; ++n) threads[n] = prepared_thread(seed, n, steps, count == 1);
    for (int n = 1; n < count; ++n) pthread_create(&running[n], NULL, work, threads[n]);
    work(threads[0]);
    for (int n = 1; n < count; ++n) pthread_join(running[n], NULL);
    report(threads, count);
    free_kinds();
    return MPI_Finalize();
}
