/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SSOR: solves a system of five coupled fields on a cube by symmetric successive over-relaxation.
 * Each sweep crosses the ranks plane by plane, with two small messages for each plane and rank, as
 * in the pseudo-application LU of the NAS Parallel Benchmarks (Bailey et al. 1991), whose equations
 * are those of a flow.
 *
 * The equation of a cell is D u - (sum of the six neighbours) = f, with D = 7 + 0.1 E, where E is
 * the 5 x 5 matrix of ones; f and the values around the cube are those of a known solution.
 *
 *     mpirun -n 4 ./ssor 64 250         64^3 cells (the size of class A), 250 iterations
 *
 * Prints a fingerprint of the solution, which is the same for any number of ranks, and the seconds
 * of the iterations.  Ends with 1 where the energy norm of the error has grown in an iteration.
 */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { fields = 5, sides_max = 512 };

static const double diagonal = 7.0;
static const double coupling = 0.1;
static const double omega = 1.2;

typedef struct cell {
    double value[fields];
} cell;

/* The part of a rank: all planes, of each a rectangle of rows and columns with a border of one. */
typedef struct part {
    MPI_Comm comm;
    int rank;
    int north; /* the rank of the rows before these */
    int south;
    int west;
    int east;
    int n; /* cells of a side of the cube */
    int first_row;
    int first_column;
    int rows;
    int columns;
    size_t count; /* cells with borders */
    cell *solution;
    cell *right;    /* f */
    cell *residual; /* in place: what the two sweeps make of it */
    cell *column;   /* packed: a column of a plane, or the columns of all */
    cell *arrived;
} part;

static size_t at(const part *p, int plane, int row, int column) {
    const size_t wide = (size_t)p->columns + 2;
    const size_t high = (size_t)p->rows + 2;
    return ((size_t)(plane + 1) * high + (size_t)(row + 1)) * wide + (size_t)(column + 1);
}

static cell known(const part *p, int plane, int row, int column) {
    const int j = p->first_row + row;
    const int i = p->first_column + column;
    cell value;
    for (int c = 0; c < fields; ++c) {
        value.value[c] = (c + 1) * ((i * i + 3 * j + 2 * plane * j) % 16 + 0.3);
    }
    return value;
}

/* D times a vector. */
static cell apply(const cell *v) {
    double sum = 0;
    cell result;
    for (int c = 0; c < fields; ++c) sum += v->value[c];
    for (int c = 0; c < fields; ++c) result.value[c] = diagonal * v->value[c] + coupling * sum;
    return result;
}

/* omega times the inverse of D, times a vector (Sherman and Morrison). */
static cell solve(const cell *v) {
    const double less = coupling / (diagonal + fields * coupling);
    double sum = 0;
    cell result;
    for (int c = 0; c < fields; ++c) sum += v->value[c];
    for (int c = 0; c < fields; ++c)
        result.value[c] = omega * (v->value[c] - less * sum) / diagonal;
    return result;
}

static void add(cell *to, const cell *what) {
    for (int c = 0; c < fields; ++c) to->value[c] += what->value[c];
}

static void subtract(cell *from, const cell *what) {
    for (int c = 0; c < fields; ++c) from->value[c] -= what->value[c];
}

static void pack(const part *p, const cell *data, int plane, int column, cell *into) {
    for (int row = 0; row < p->rows; ++row) into[row] = data[at(p, plane, row, column)];
}

static void unpack(const part *p, cell *data, int plane, int column, const cell *from) {
    for (int row = 0; row < p->rows; ++row) data[at(p, plane, row, column)] = from[row];
}

static void receive_border(part *p, int plane, int row, int row_from, int column, int column_from) {
    MPI_Recv(&p->residual[at(p, plane, row, 0)], p->columns * fields, MPI_DOUBLE, row_from, 0,
             p->comm, MPI_STATUS_IGNORE);
    if (column_from == MPI_PROC_NULL) return;
    MPI_Recv(p->column, p->rows * fields, MPI_DOUBLE, column_from, 0, p->comm, MPI_STATUS_IGNORE);
    unpack(p, p->residual, plane, column, p->column);
}

static void send_border(part *p, int plane, int row, int row_to, int column, int column_to) {
    MPI_Send(&p->residual[at(p, plane, row, 0)], p->columns * fields, MPI_DOUBLE, row_to, 0,
             p->comm);
    if (column_to == MPI_PROC_NULL) return;
    pack(p, p->residual, plane, column, p->column);
    MPI_Send(p->column, p->rows * fields, MPI_DOUBLE, column_to, 0, p->comm);
}

/* Solves with the lower triangle: a cell needs those before it. */
static void sweep_down(part *p) {
    for (int plane = 0; plane < p->n; ++plane) {
        receive_border(p, plane, -1, p->north, -1, p->west);
        for (int row = 0; row < p->rows; ++row) {
            for (int column = 0; column < p->columns; ++column) {
                cell *here = &p->residual[at(p, plane, row, column)];
                add(here, &p->residual[at(p, plane - 1, row, column)]);
                add(here, &p->residual[at(p, plane, row - 1, column)]);
                add(here, &p->residual[at(p, plane, row, column - 1)]);
                *here = solve(here);
            }
        }
        send_border(p, plane, p->rows - 1, p->south, p->columns - 1, p->east);
    }
}

/* Solves with the upper triangle: a cell needs those behind it. */
static void sweep_up(part *p) {
    for (int plane = p->n - 1; plane >= 0; --plane) {
        receive_border(p, plane, p->rows, p->south, p->columns, p->east);
        for (int row = p->rows - 1; row >= 0; --row) {
            for (int column = p->columns - 1; column >= 0; --column) {
                cell *here = &p->residual[at(p, plane, row, column)];
                *here = apply(here);
                for (int c = 0; c < fields; ++c) here->value[c] *= (2 - omega) / omega;
                add(here, &p->residual[at(p, plane + 1, row, column)]);
                add(here, &p->residual[at(p, plane, row + 1, column)]);
                add(here, &p->residual[at(p, plane, row, column + 1)]);
                *here = solve(here);
            }
        }
        send_border(p, plane, 0, p->north, 0, p->west);
    }
}

/* The borders of a sweep in one direction are not those of the other. */
static void clear_borders(part *p) {
    const cell zero = {{0}};
    for (int plane = 0; plane < p->n; ++plane) {
        for (int column = -1; column <= p->columns; ++column) {
            p->residual[at(p, plane, -1, column)] = zero;
            p->residual[at(p, plane, p->rows, column)] = zero;
        }
        for (int row = 0; row < p->rows; ++row) {
            p->residual[at(p, plane, row, -1)] = zero;
            p->residual[at(p, plane, row, p->columns)] = zero;
        }
    }
}

static void exchange_columns(part *p, int sent, int to, int received, int from) {
    for (int plane = 0; plane < p->n; ++plane) {
        pack(p, p->solution, plane, sent, p->column + (size_t)plane * (size_t)p->rows);
    }
    const int count = p->n * p->rows * fields;
    MPI_Sendrecv(p->column, count, MPI_DOUBLE, to, 1, p->arrived, count, MPI_DOUBLE, from, 1,
                 p->comm, MPI_STATUS_IGNORE);
    if (from == MPI_PROC_NULL) return;
    for (int plane = 0; plane < p->n; ++plane) {
        unpack(p, p->solution, plane, received, p->arrived + (size_t)plane * (size_t)p->rows);
    }
}

static void exchange_rows(part *p, int sent, int to, int received, int from) {
    MPI_Datatype face;
    const int stride = (p->rows + 2) * (p->columns + 2) * fields;
    MPI_Type_vector(p->n, p->columns * fields, stride, MPI_DOUBLE, &face);
    MPI_Type_commit(&face);
    MPI_Sendrecv(&p->solution[at(p, 0, sent, 0)], 1, face, to, 2,
                 &p->solution[at(p, 0, received, 0)], 1, face, from, 2, p->comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&face);
}

static void exchange_solution(part *p) {
    exchange_columns(p, 0, p->west, p->columns, p->east);
    exchange_columns(p, p->columns - 1, p->east, -1, p->west);
    exchange_rows(p, 0, p->north, p->rows, p->south);
    exchange_rows(p, p->rows - 1, p->south, -1, p->north);
}

/* The six neighbours of a cell lie so far from it, in cells. */
static void find_strides(const part *p, ptrdiff_t strides[6]) {
    const ptrdiff_t row = p->columns + 2;
    const ptrdiff_t plane = row * (p->rows + 2);
    const ptrdiff_t found[6] = {-plane, -row, -1, 1, row, plane};
    memcpy(strides, found, sizeof found);
}

/* A times what `data` holds, at one cell. */
static cell apply_matrix(const cell *data, const ptrdiff_t strides[6]) {
    cell result = apply(data);
    for (int side = 0; side < 6; ++side) subtract(&result, data + strides[side]);
    return result;
}

/* The known solution everywhere, its right side, and then zero where nothing is known yet. */
static void pose(part *p) {
    ptrdiff_t strides[6];
    find_strides(p, strides);
    for (int plane = -1; plane <= p->n; ++plane) {
        for (int row = -1; row <= p->rows; ++row) {
            for (int column = -1; column <= p->columns; ++column) {
                p->solution[at(p, plane, row, column)] = known(p, plane, row, column);
            }
        }
    }
    for (int plane = 0; plane < p->n; ++plane) {
        for (int row = 0; row < p->rows; ++row) {
            for (int column = 0; column < p->columns; ++column) {
                const size_t here = at(p, plane, row, column);
                p->right[here] = apply_matrix(&p->solution[here], strides);
            }
        }
    }
    for (int plane = 0; plane < p->n; ++plane) {
        for (int row = 0; row < p->rows; ++row) {
            cell *cells = &p->solution[at(p, plane, row, 0)];
            memset(cells, 0, (size_t)p->columns * sizeof(cell));
        }
    }
}

/* Sets the residual f - A u, which is A times the error, and returns the energy of the error. */
static double find_residual(part *p) {
    double mine = 0;
    double all = 0;
    ptrdiff_t strides[6];
    find_strides(p, strides);
    exchange_solution(p);
    for (int plane = 0; plane < p->n; ++plane) {
        for (int row = 0; row < p->rows; ++row) {
            for (int column = 0; column < p->columns; ++column) {
                const size_t here = at(p, plane, row, column);
                const cell product = apply_matrix(&p->solution[here], strides);
                cell error = known(p, plane, row, column);
                subtract(&error, &p->solution[here]);
                p->residual[here] = p->right[here];
                subtract(&p->residual[here], &product);
                for (int c = 0; c < fields; ++c) {
                    mine += error.value[c] * p->residual[here].value[c];
                }
            }
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, p->comm);
    return all;
}

static void correct(part *p) {
    for (int plane = 0; plane < p->n; ++plane) {
        for (int row = 0; row < p->rows; ++row) {
            for (int column = 0; column < p->columns; ++column) {
                const size_t here = at(p, plane, row, column);
                add(&p->solution[here], &p->residual[here]);
            }
        }
    }
}

/* Depends on each bit of the solution and on its place. */
static uint64_t fingerprint(const part *p) {
    uint64_t mine = 0;
    uint64_t all = 0;
    for (int plane = 0; plane < p->n; ++plane) {
        for (int row = 0; row < p->rows; ++row) {
            for (int column = 0; column < p->columns; ++column) {
                const cell *here = &p->solution[at(p, plane, row, column)];
                const int line = plane * p->n + p->first_row + row;
                const int first = (line * p->n + p->first_column + column) * fields;
                for (int c = 0; c < fields; ++c) {
                    uint64_t bits;
                    memcpy(&bits, &here->value[c], sizeof bits);
                    mine += bits * (2 * (uint64_t)(first + c) + 1);
                }
            }
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, p->comm);
    return all;
}

static int run(part *p, int iterations) {
    MPI_Barrier(p->comm);
    const double begin = MPI_Wtime();
    double energy = find_residual(p);
    const double rounding = 1e-24 * energy;
    int good = energy > 0;
    for (int i = 0; i < iterations; ++i) {
        clear_borders(p);
        sweep_down(p);
        sweep_up(p);
        correct(p);
        const double next = find_residual(p);
        good = good && (next < energy || next < rounding);
        energy = next;
    }
    const double seconds = MPI_Wtime() - begin;
    const uint64_t print = fingerprint(p);
    if (p->rank == 0) {
        printf("energy of the error %.3g, fingerprint %016llx\n", energy,
               (unsigned long long)print);
        printf("%s, %.6f s\n", good ? "verified" : "THE ERROR HAS GROWN", seconds);
    }
    return good ? 0 : 1;
}

static void divide(part *p) {
    int ranks;
    int dims[2] = {0, 0};
    int place[2];
    const int periods[2] = {0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &p->comm);
    MPI_Comm_rank(p->comm, &p->rank);
    MPI_Cart_coords(p->comm, p->rank, 2, place);
    MPI_Cart_shift(p->comm, 0, 1, &p->north, &p->south);
    MPI_Cart_shift(p->comm, 1, 1, &p->west, &p->east);
    p->first_row = p->n * place[0] / dims[0];
    p->first_column = p->n * place[1] / dims[1];
    p->rows = p->n * (place[0] + 1) / dims[0] - p->first_row;
    p->columns = p->n * (place[1] + 1) / dims[1] - p->first_column;
    p->count = (size_t)(p->n + 2) * (size_t)(p->rows + 2) * (size_t)(p->columns + 2);
}

static int allocate(part *p) {
    p->solution = calloc(p->count, sizeof(cell));
    p->right = calloc(p->count, sizeof(cell));
    p->residual = calloc(p->count, sizeof(cell));
    p->column = malloc((size_t)p->n * (size_t)p->rows * sizeof(cell));
    p->arrived = malloc((size_t)p->n * (size_t)p->rows * sizeof(cell));
    return p->solution && p->right && p->residual && p->column && p->arrived;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks;
    part p = {0};
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    p.n = argc == 3 ? atoi(argv[1]) : 0;
    const int iterations = argc == 3 ? atoi(argv[2]) : 0;
    if (p.n < ranks || p.n > sides_max || iterations < 1) {
        if (p.rank == 0) fprintf(stderr, "use: ssor SIDE(ranks..%d) ITERATIONS\n", sides_max);
        MPI_Finalize();
        return 2;
    }
    divide(&p);
    if (!allocate(&p)) MPI_Abort(MPI_COMM_WORLD, 1);
    pose(&p);
    const int status = run(&p, iterations);
    free(p.solution);
    free(p.right);
    free(p.residual);
    free(p.column);
    free(p.arrived);
    MPI_Comm_free(&p.comm);
    MPI_Finalize();
    return status;
}
