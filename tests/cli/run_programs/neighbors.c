/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighborhood collectives on communicators of each kind of topology: a line, a periodic grid, a
 * star as a graph, and distributed graphs whose edges lead one way, with ranks that are their own
 * neighbors, that only send, that only receive and that have no neighbor. Each is called blocking,
 * nonblocking and persistent, with plain and with spaced elements. What must come is computed from
 * the topology. Rank 0 prints "all right", or every rank says what is not.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "persistent_names.h"

enum { degree_max = 64, gap = 3, untouched = -7 };

static int rank, ranks, wrong;

/* Who the neighbors of a rank are, and what its blocks hold. */
struct neighborhood {
    MPI_Comm comm;
    int in, out;
    int sources[degree_max], destinations[degree_max];
    int repeats; /* somewhere a rank is a neighbor twice: MPIs match such blocks differently */
};

struct buffers {
    int *sent, *received;
    size_t received_numbers;
    MPI_Datatype sent_type, received_type;
    int sent_space, received_space; /* numbers from one to the next */
};

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static int number_between(int from, int to, int i) {
    return 1000 * from + 10 * to + i % 10;
}

static int has_twice(const int *neighbors, int count) {
    for (int a = 0; a < count; ++a) {
        for (int b = 0; b < a; ++b) {
            if (neighbors[a] != MPI_PROC_NULL && neighbors[a] == neighbors[b]) return 1;
        }
    }
    return 0;
}

static void agree_on_repeats(struct neighborhood *with) {
    const int mine = has_twice(with->sources, with->in) || has_twice(with->destinations, with->out);
    MPI_Allreduce(&mine, &with->repeats, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static void take_grid(struct neighborhood *with, int dimensions, int periodic) {
    int extents[3] = {0, 0, 0}, periods[3] = {periodic, periodic, periodic};
    MPI_Dims_create(ranks, dimensions, extents);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, periods, 0, &with->comm);
    with->in = with->out = 2 * dimensions;
    for (int d = 0; d < dimensions; ++d) {
        MPI_Cart_shift(with->comm, d, 1, &with->sources[2 * d], &with->sources[2 * d + 1]);
    }
    for (int i = 0; i < with->in; ++i) with->destinations[i] = with->sources[i];
}

/* Rank 0 and each other rank. */
static void take_star(struct neighborhood *with) {
    int ends[degree_max], edges[2 * degree_max];
    for (int r = 0; r < ranks; ++r) ends[r] = ranks - 1 + r;
    for (int r = 1; r < ranks; ++r) edges[r - 1] = r, edges[ranks - 2 + r] = 0;
    MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 0, &with->comm);
    with->in = with->out = rank == 0 ? ranks - 1 : 1;
    for (int i = 0; i < with->in; ++i) with->sources[i] = with->destinations[i] = rank ? 0 : i + 1;
}

/* Whether the edge is there; rank 0 only sends, and the last of several only receives. */
static int leads(int which, int from, int to) {
    if (which == 0) return 0;
    if (which == 1) return from == (to + 1) % ranks;
    return (from * 5 + to * 3 + which) % 3 != 0 && to != 0 && (from != ranks - 1 || ranks == 1);
}

static void take_graph(struct neighborhood *with, int which) {
    with->in = with->out = 0;
    for (int r = ranks - 1; r >= 0; --r) {
        if (leads(which, r, rank)) with->sources[with->in++] = r;
        if (leads(which, rank, r)) with->destinations[with->out++] = r;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, with->in, with->sources, MPI_UNWEIGHTED,
                                   with->out, with->destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &with->comm);
}

static void clear(struct buffers *of) {
    for (size_t i = 0; i < of->received_numbers; ++i) of->received[i] = untouched;
}

/* What the blocks of a call are: each rank gives its neighbors one, or each of them its own. */
enum kind { gathered, gathered_v, exchanged, exchanged_v, exchanged_w };

static int is_gathered(enum kind kind) {
    return kind == gathered || kind == gathered_v;
}

static int is_uneven(enum kind kind) {
    return kind != gathered && kind != exchanged;
}

/* Numbers in the block from one rank to another; nobody knows how much nobody sends. */
static int length(enum kind kind, int count, int from, int to) {
    if (!is_uneven(kind)) return count;
    if (from == MPI_PROC_NULL || to == MPI_PROC_NULL) return count / 2;
    return count * ((from + 2 * (is_gathered(kind) ? 0 : to)) % 3) / 2;
}

/* Blocks of several lengths stand apart, the last one first. */
static int place(enum kind kind, int count, int block, int blocks) {
    return is_uneven(kind) ? (blocks - 1 - block) * (count + 1) + 1 : block * count;
}

static int given(enum kind kind, int from, int to, int i) {
    return number_between(from, is_gathered(kind) ? 0 : to, i);
}

/* Everything that the blocks hold, with the space between their numbers, and what is beside them.
 */
static void expect_blocks(const struct neighborhood *with, struct buffers *of, enum kind kind,
                          int count, const char *what) {
    const int space = of->received_space;
    int *wanted = malloc(of->received_numbers * sizeof *wanted);
    for (size_t i = 0; i < of->received_numbers; ++i) wanted[i] = untouched;
    for (int b = 0; b < with->in; ++b) {
        const int from = with->sources[b], at = place(kind, count, b, with->in);
        for (int i = 0; from != MPI_PROC_NULL && i < length(kind, count, from, rank); ++i) {
            wanted[space * (at + i)] = given(kind, from, rank, i);
        }
    }
    for (size_t i = 0; i < of->received_numbers; ++i) expect(of->received[i], wanted[i], what);
    free(wanted);
    clear(of);
}

static void fill(const struct neighborhood *with, struct buffers *of, enum kind kind, int count) {
    const int blocks = is_gathered(kind) ? 1 : with->out;
    for (int b = 0; b < blocks; ++b) {
        const int to = is_gathered(kind) ? 0 : with->destinations[b];
        const int at = is_gathered(kind) ? 0 : place(kind, count, b, blocks);
        for (int i = 0; i < length(kind, count, rank, to); ++i) {
            of->sent[of->sent_space * (at + i)] = given(kind, rank, to, i);
        }
    }
}

/* The arrays that describe the blocks of one side. */
struct arrays {
    int counts[degree_max], places[degree_max];
    MPI_Aint far_places[degree_max];
    MPI_Datatype types[degree_max];
};

static void describe(struct arrays *side, const int *neighbors, int blocks, enum kind kind,
                     int count, int sends, MPI_Datatype type, int space) {
    for (int b = 0; b < blocks; ++b) {
        const int from = sends ? rank : neighbors[b], to = sends ? neighbors[b] : rank;
        side->counts[b] = length(kind, count, from, to);
        side->places[b] = place(kind, count, b, blocks);
        side->far_places[b] = (MPI_Aint)sizeof(int) * space * side->places[b];
        side->types[b] = type;
    }
}

enum form { blocking, nonblocking, persistent };

#define CALL(name, ...)                                                      \
    do {                                                                     \
        if (form == blocking) MPI_Neighbor_##name(__VA_ARGS__);              \
        if (form == nonblocking) MPI_Ineighbor_##name(__VA_ARGS__, request); \
        if (form == persistent) {                                            \
            MPI_Neighbor_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request); \
        }                                                                    \
    } while (0)

static void make(const struct neighborhood *with, struct buffers *of, enum kind kind, int count,
                 enum form form, MPI_Request *request) {
    static struct arrays sent, received;
    int *const out = of->sent, *const in = of->received;
    const MPI_Datatype give = of->sent_type, take = of->received_type;
    const int own = length(kind, count, rank, 0);
    const MPI_Comm comm = with->comm;
    describe(&sent, with->destinations, with->out, kind, count, 1, give, of->sent_space);
    describe(&received, with->sources, with->in, kind, count, 0, take, of->received_space);
    switch (kind) {
        case gathered: CALL(allgather, out, count, give, in, count, take, comm); return;
        case gathered_v:
            CALL(allgatherv, out, own, give, in, received.counts, received.places, take, comm);
            return;
        case exchanged: CALL(alltoall, out, count, give, in, count, take, comm); return;
        case exchanged_v:
            CALL(alltoallv, out, sent.counts, sent.places, give, in, received.counts,
                 received.places, take, comm);
            return;
        default:
            CALL(alltoallw, out, sent.counts, sent.far_places, sent.types, in, received.counts,
                 received.far_places, received.types, comm);
    }
}

static const char *const names[] = {"neighbor_allgather", "neighbor_allgatherv",
                                    "neighbor_alltoall", "neighbor_alltoallv",
                                    "neighbor_alltoallw"};

static void call(const struct neighborhood *with, struct buffers *of, enum kind kind, int count,
                 int has_persistent) {
    MPI_Request request = MPI_REQUEST_NULL;
    fill(with, of, kind, count);
    make(with, of, kind, count, blocking, &request);
    expect_blocks(with, of, kind, count, names[kind]);
    make(with, of, kind, count, nonblocking, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect_blocks(with, of, kind, count, names[kind]);
    if (!has_persistent) return;
    make(with, of, kind, count, persistent, &request);
    for (int round = 0; round < 3; ++round) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_blocks(with, of, kind, count, names[kind]);
    }
    MPI_Request_free(&request);
}

static void call_all(struct neighborhood *with, MPI_Datatype spaced, int has_persistent) {
    static const int counts[] = {0, 2, 6, 3000};
    agree_on_repeats(with);
    for (int c = 0; c < 4; ++c) {
        for (int spacing = 0; spacing < 4; ++spacing) {
            const int count = counts[c];
            struct buffers of = {.sent_space = spacing % 2 ? gap : 1,
                                 .received_space = spacing / 2 ? gap : 1};
            const size_t most = (size_t)gap * (size_t)(count + 1);
            of.sent_type = spacing % 2 ? spaced : MPI_INT;
            of.received_type = spacing / 2 ? spaced : MPI_INT;
            of.sent = calloc(most * (size_t)(with->out + 1), sizeof *of.sent);
            of.received_numbers = most * (size_t)(with->in + 1);
            of.received = calloc(of.received_numbers, sizeof *of.received);
            clear(&of);
            for (int kind = gathered; kind <= exchanged_w; ++kind) {
                if (with->repeats && !is_gathered((enum kind)kind)) continue;
                call(with, &of, (enum kind)kind, count, has_persistent);
            }
            free(of.sent), free(of.received);
        }
    }
    MPI_Comm_free(&with->comm);
}

int main(int argc, char **argv) {
    struct neighborhood with;
    MPI_Datatype spaced;
    int worst = 0;
    const int has_persistent = argc < 2; /* a word: the MPI fails in those of its own */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Type_create_resized(MPI_INT, 0, gap * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    for (int dimensions = 1; dimensions <= 3; ++dimensions) {
        for (int periodic = 0; periodic < 2; ++periodic) {
            take_grid(&with, dimensions, periodic);
            call_all(&with, spaced, has_persistent);
        }
    }
    take_star(&with);
    call_all(&with, spaced, has_persistent);
    for (int which = 0; which < 5; ++which) {
        take_graph(&with, which);
        call_all(&with, spaced, has_persistent);
    }
    MPI_Type_free(&spaced);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
