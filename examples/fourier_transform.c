/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fourier transform: solves a diffusion equation in three dimensions by Fourier transforms, which
 * send all data to all ranks in each iteration (MPI_Alltoall), as the kernel FT of the NAS Parallel
 * Benchmarks asks for (Bailey et al. 1991).  Written from the specification: the generator
 * x' = 5^13 x mod 2^46, factors exp(-4 alpha pi^2 |k|^2 t) with alpha = 1e-6, and a checksum of
 * 1024 elements after each iteration.
 *
 *     mpirun -n 4 ./fourier_transform 6 6 6 6       2^6 x 2^6 x 2^6 (class S), 6 iterations
 *
 * Each rank has an equal share of the planes.  Prints the last checksum and the seconds of the
 * iterations, and ends with 1 where the transform has lost a part of the energy (Parseval).
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex number;

static const double pi = 3.14159265358979323846;
static const double alpha = 1e-6;
static const uint64_t modulus_mask = (UINT64_C(1) << 46) - 1;
static const uint64_t multiplier = 1220703125; /* 5^13 */
static const uint64_t seed = 314159265;

/* In space, a rank has nz / ranks planes of ny rows of nx; its waves are ny / ranks slabs of nx
 * columns of nz, so that the last transform finds its elements together. */
typedef struct grid {
    int rank;
    int ranks;
    int nx;
    int ny;
    int nz;
    int planes; /* nz / ranks */
    int slabs;  /* ny / ranks */
    size_t count;
    number *waves;    /* the transform of the initial state */
    number *evolved;  /* the same at the time of the iteration */
    number *space;    /* the state at that time */
    number *outgoing; /* packed for the exchange */
    number *roots;    /* of unity, for the longest side */
    number *line;     /* room for one side */
    int longest;
} grid;

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

static void make_state(grid *g) {
    const double scale = 1.0 / (double)(modulus_mask + 1);
    uint64_t x = times(seed, power(multiplier, 2 * (uint64_t)g->rank * g->count));
    for (size_t i = 0; i < g->count; ++i) {
        x = times(x, multiplier);
        const double real = (double)x * scale;
        x = times(x, multiplier);
        g->space[i] = real + (double)x * scale * I;
    }
}

static void make_roots(grid *g) {
    for (int i = 0; i < g->longest; ++i) {
        const double angle = -2 * pi * i / g->longest;
        g->roots[i] = cos(angle) + sin(angle) * I;
    }
}

static number root(const grid *g, int index, int sign) {
    return sign < 0 ? g->roots[index] : conj(g->roots[index]);
}

/* Transforms n elements that lie `stride` apart (Stockham's way, which needs no reordering); the
 * sign is that of the exponent. */
static void transform(grid *g, number *data, int n, size_t stride, int sign) {
    number *from = g->line;
    number *to = g->line + n;
    for (int i = 0; i < n; ++i) from[i] = data[(size_t)i * stride];
    for (int half = n / 2, groups = 1; half >= 1; half /= 2, groups *= 2) {
        for (int j = 0; j < half; ++j) {
            const number w = root(g, j * (g->longest / (2 * half)), sign);
            for (int k = 0; k < groups; ++k) {
                const number a = from[k + groups * j];
                const number b = from[k + groups * (j + half)];
                to[k + groups * 2 * j] = a + b;
                to[k + groups * (2 * j + 1)] = (a - b) * w;
            }
        }
        number *last = from;
        from = to;
        to = last;
    }
    for (int i = 0; i < n; ++i) data[(size_t)i * stride] = from[i];
}

static void transform_planes(grid *g, int sign) {
    const size_t nx = (size_t)g->nx;
    for (int z = 0; z < g->planes; ++z) {
        number *plane = g->space + (size_t)z * (size_t)g->ny * nx;
        for (int y = 0; y < g->ny; ++y) transform(g, plane + (size_t)y * nx, g->nx, 1, sign);
        for (size_t x = 0; x < nx; ++x) transform(g, plane + x, g->ny, nx, sign);
    }
}

static void transform_columns(grid *g, number *waves, int sign) {
    const size_t columns = (size_t)g->slabs * (size_t)g->nx;
    for (size_t i = 0; i < columns; ++i) transform(g, waves + i * (size_t)g->nz, g->nz, 1, sign);
}

static void send_all(grid *g, const number *from, number *to) {
    const int each = (int)(g->count / (size_t)g->ranks);
    MPI_Alltoall(from, each, MPI_C_DOUBLE_COMPLEX, to, each, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
}

/* A block of the exchange has the planes of the one rank and the slabs of the other: element x of
 * row y of plane z. */
static size_t place_in_block(const grid *g, int rank, int z, int y, int x) {
    const size_t block = (size_t)rank * (g->count / (size_t)g->ranks);
    return block + ((size_t)z * (size_t)g->slabs + (size_t)y) * (size_t)g->nx + (size_t)x;
}

static size_t place_in_space(const grid *g, int rank, int z, int y, int x) {
    const size_t row = (size_t)z * (size_t)g->ny + (size_t)(rank * g->slabs + y);
    return row * (size_t)g->nx + (size_t)x;
}

static size_t place_in_waves(const grid *g, int rank, int z, int y, int x) {
    const size_t column = (size_t)y * (size_t)g->nx + (size_t)x;
    return column * (size_t)g->nz + (size_t)(rank * g->planes + z);
}

typedef size_t place(const grid *g, int rank, int z, int y, int x);

/* Copies all elements from one order into the other. */
static void reorder(const grid *g, const number *from, place *source, number *to, place *target) {
    for (int r = 0; r < g->ranks; ++r) {
        for (int z = 0; z < g->planes; ++z) {
            for (int y = 0; y < g->slabs; ++y) {
                for (int x = 0; x < g->nx; ++x) {
                    to[target(g, r, z, y, x)] = from[source(g, r, z, y, x)];
                }
            }
        }
    }
}

static void to_waves(grid *g) {
    transform_planes(g, -1);
    reorder(g, g->space, place_in_space, g->outgoing, place_in_block);
    send_all(g, g->outgoing, g->space);
    reorder(g, g->space, place_in_block, g->waves, place_in_waves);
    transform_columns(g, g->waves, -1);
}

/* Leaves the state times the number of its elements. */
static void to_space(grid *g) {
    transform_columns(g, g->evolved, 1);
    reorder(g, g->evolved, place_in_waves, g->outgoing, place_in_block);
    send_all(g, g->outgoing, g->evolved);
    reorder(g, g->evolved, place_in_block, g->space, place_in_space);
    transform_planes(g, 1);
}

static int frequency(int index, int n) {
    return index < n / 2 ? index : index - n;
}

static void evolve(grid *g, int time) {
    const double rate = -4 * alpha * pi * pi * time;
    size_t at = 0;
    for (int y = 0; y < g->slabs; ++y) {
        const int ky = frequency(g->rank * g->slabs + y, g->ny);
        for (int x = 0; x < g->nx; ++x) {
            const int kx = frequency(x, g->nx);
            for (int z = 0; z < g->nz; ++z, ++at) {
                const int kz = frequency(z, g->nz);
                const double square = (double)kx * kx + (double)ky * ky + (double)kz * kz;
                g->evolved[at] = g->waves[at] * exp(rate * square);
            }
        }
    }
}

static double energy(const grid *g, const number *data) {
    double mine = 0;
    double all = 0;
    for (size_t i = 0; i < g->count; ++i) {
        mine += creal(data[i]) * creal(data[i]) + cimag(data[i]) * cimag(data[i]);
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static number checksum(const grid *g) {
    number mine = 0;
    number all = 0;
    const double elements = (double)g->count * g->ranks;
    for (int j = 1; j <= 1024; ++j) {
        const int x = j % g->nx;
        const int y = 3 * j % g->ny;
        const int z = 5 * j % g->nz - g->rank * g->planes;
        if (z < 0 || z >= g->planes) continue;
        mine += g->space[((size_t)z * (size_t)g->ny + (size_t)y) * (size_t)g->nx + (size_t)x];
    }
    MPI_Allreduce(&mine, &all, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    return all / elements;
}

/* Makes one step of time; false where waves and space do not have the same energy. */
static int step(grid *g, int time, number *sum) {
    evolve(g, time);
    const double elements = (double)g->count * g->ranks;
    const double of_waves = energy(g, g->evolved) * elements;
    to_space(g);
    const double of_space = energy(g, g->space);
    *sum = checksum(g);
    return fabs(of_space - of_waves) <= 1e-10 * of_waves;
}

static int allocate(grid *g) {
    g->waves = malloc(g->count * sizeof(number));
    g->evolved = malloc(g->count * sizeof(number));
    g->space = malloc(g->count * sizeof(number));
    g->outgoing = malloc(g->count * sizeof(number));
    g->roots = malloc((size_t)g->longest * sizeof(number));
    g->line = malloc((size_t)g->longest * 2 * sizeof(number));
    return g->waves && g->evolved && g->space && g->outgoing && g->roots && g->line;
}

static void release(grid *g) {
    free(g->waves);
    free(g->evolved);
    free(g->space);
    free(g->outgoing);
    free(g->roots);
    free(g->line);
}

/* Reads the sides; false where they are not there or the ranks cannot share them. */
static int read_sides(grid *g, int argc, char **argv) {
    int bits[3];
    if (argc != 5) return 0;
    for (int side = 0; side < 3; ++side) {
        bits[side] = atoi(argv[1 + side]);
        if (bits[side] < 1 || bits[side] > 10) return 0;
    }
    g->nx = 1 << bits[0];
    g->ny = 1 << bits[1];
    g->nz = 1 << bits[2];
    if (g->ny % g->ranks != 0 || g->nz % g->ranks != 0) return 0;
    g->planes = g->nz / g->ranks;
    g->slabs = g->ny / g->ranks;
    g->count = (size_t)g->planes * (size_t)g->ny * (size_t)g->nx;
    g->longest = g->nx > g->ny ? g->nx : g->ny;
    g->longest = g->nz > g->longest ? g->nz : g->longest;
    return 1;
}

static int run(grid *g, int iterations) {
    make_roots(g);
    make_state(g);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    to_waves(g);
    int good = 1;
    number sum = 0;
    for (int time = 1; time <= iterations; ++time) good = step(g, time, &sum) && good;
    const double seconds = MPI_Wtime() - begin;
    if (g->rank == 0) {
        printf("checksum %.10f %.10f\n", creal(sum), cimag(sum));
        printf("%s, %.6f s\n", good ? "verified" : "ENERGY IS LOST", seconds);
    }
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    grid g = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g.ranks);
    const int iterations = argc == 5 ? atoi(argv[4]) : 0;
    if (!read_sides(&g, argc, argv) || iterations < 1) {
        if (g.rank == 0) {
            fprintf(stderr,
                    "use: fourier_transform LOG2_NX LOG2_NY LOG2_NZ(1..10) ITERATIONS, with "
                    "ranks that divide the last two sides\n");
        }
        MPI_Finalize();
        return 2;
    }
    if (!allocate(&g)) MPI_Abort(MPI_COMM_WORLD, 1);
    const int status = run(&g, iterations);
    release(&g);
    MPI_Finalize();
    return status;
}
