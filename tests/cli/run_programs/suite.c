/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as the test suites of MPIs call them: every predefined operator on many types, an
 * operator that does not commute, counts from none to more than a segment, blocks with gaps in any
 * order, derived types, MPI_BOTTOM, MPI_IN_PLACE, other communicators, many requests at once, and
 * threads. What must come is computed on each rank from what all ranks give. Rank 0 prints
 * "all right", or every rank says what is not.
 */
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bytes_max = 1 << 20, ranks_max = 64 };

/* MPICH 4.0 puts the block of the only rank at the beginning, wherever it belongs. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
enum { ranks_of_right_allgatherv = 2 };
#else
enum { ranks_of_right_allgatherv = 1 };
#endif

static int rank, ranks, wrong;
static const int counts_of_elements[] = {0, 1, 3, 17, 1000, 20011};
enum { counts_number = sizeof counts_of_elements / sizeof *counts_of_elements };

static void expect_same(const void *given, const void *wanted, size_t bytes, const char *what,
                        int count) {
    if (bytes == 0 || memcmp(given, wanted, bytes) == 0) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s of %d elements is wrong\n", rank, what, count);
}

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static void *room(void) {
    void *memory = calloc(1, bytes_max);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* A small whole number that every type holds, by who gives it and where it stands. */
static int number(int from, int i) {
    return (from * 7 + i * 3 + from * i) % 5 + 1;
}

struct map {
    long a, b; /* x -> ax + b */
};

static void compose(void *left, void *right, int *count, MPI_Datatype *type) {
    const struct map *f = left;
    struct map *g = right;
    (void)type;
    for (int i = 0; i < *count; ++i, ++f, ++g) {
        const struct map whole = {f->a * g->a % 10007, (f->b + f->a * g->b) % 10007};
        *g = whole;
    }
}

struct kind {
    MPI_Datatype type;
    size_t bytes;
    enum { signed_char, shorts, ints, longs, floats, doubles, int_pairs, maps } held;
};

/* What rank `from` gives. */
static void fill(void *memory, int from, int count, const struct kind *kind) {
    memset(memory, 0, kind->bytes * (size_t)count);
    for (int i = 0; i < count; ++i) {
        const int x = number(from, i);
        switch (kind->held) {
            case signed_char: ((signed char *)memory)[i] = (signed char)x; break;
            case shorts: ((short *)memory)[i] = (short)x; break;
            case ints: ((int *)memory)[i] = x; break;
            case longs: ((long *)memory)[i] = x; break;
            case floats: ((float *)memory)[i] = (float)x; break;
            case doubles: ((double *)memory)[i] = x; break;
            case int_pairs: {
                const int pair[] = {x, from};
                memcpy((char *)memory + 8 * (size_t)i, pair, 8);
                break;
            }
            case maps: {
                const struct map map = {x, from};
                ((struct map *)memory)[i] = map;
            }
        }
    }
}

/* Ranks 0 to `last` combined, in order. */
static void fold(void *result, int last, int count, const struct kind *kind, MPI_Op op) {
    void *left = room();
    fill(result, last, count, kind);
    for (int from = last - 1; from >= 0; --from) {
        fill(left, from, count, kind);
        MPI_Reduce_local(left, result, count, kind->type, op);
    }
    free(left);
}

static void reduce_everywhere(MPI_Comm comm, const struct kind *kind, MPI_Op op, int count) {
    char *mine = room(), *given = room(), *wanted = room();
    const size_t bytes = kind->bytes * (size_t)count;
    const int root = (count + 1) % ranks;
    fill(mine, rank, count, kind);
    fold(wanted, ranks - 1, count, kind, op);
    MPI_Allreduce(mine, given, count, kind->type, op, comm);
    expect_same(given, wanted, bytes, "allreduce", count);
    memcpy(given, mine, bytes);
    MPI_Allreduce(MPI_IN_PLACE, given, count, kind->type, op, comm);
    expect_same(given, wanted, bytes, "allreduce in place", count);
    memset(given, 0, bytes);
    MPI_Reduce(mine, rank == root ? given : NULL, count, kind->type, op, root, comm);
    if (rank == root) expect_same(given, wanted, bytes, "reduce", count);
    memcpy(given, mine, bytes);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, given, count, kind->type, op, root, comm);
    if (rank == root) expect_same(given, wanted, bytes, "reduce in place", count);

    /* Equal blocks, and blocks of which some are empty. */
    int counts[ranks_max], begin = 0, own = 0;
    MPI_Reduce_scatter_block(mine, given, count / ranks, kind->type, op, comm);
    expect_same(given, wanted + kind->bytes * (size_t)(count / ranks * rank),
                kind->bytes * (size_t)(count / ranks), "reduce_scatter_block", count);
    for (int r = 0, left = count; r < ranks; ++r) {
        counts[r] = r == ranks - 1 ? left : r % 3 ? left / 2 : 0;
        if (r == rank) own = begin;
        begin += counts[r], left -= counts[r];
    }
    MPI_Reduce_scatter(mine, given, counts, kind->type, op, comm);
    expect_same(given, wanted + kind->bytes * (size_t)own, kind->bytes * (size_t)counts[rank],
                "reduce_scatter", count);

    fold(wanted, rank, count, kind, op);
    MPI_Scan(mine, given, count, kind->type, op, comm);
    expect_same(given, wanted, bytes, "scan", count);
    memcpy(given, mine, bytes);
    MPI_Scan(MPI_IN_PLACE, given, count, kind->type, op, comm);
    expect_same(given, wanted, bytes, "scan in place", count);
    if (rank > 0) fold(wanted, rank - 1, count, kind, op);
    MPI_Exscan(mine, given, count, kind->type, op, comm);
    if (rank > 0) expect_same(given, wanted, bytes, "exscan", count);
    memcpy(given, mine, bytes);
    MPI_Exscan(MPI_IN_PLACE, given, count, kind->type, op, comm);
    if (rank > 0) expect_same(given, wanted, bytes, "exscan in place", count);
    free(mine), free(given), free(wanted);
}

static void reduce_all_kinds(void) {
    const struct kind whole[] = {{MPI_SIGNED_CHAR, 1, signed_char},
                                 {MPI_SHORT, 2, shorts},
                                 {MPI_INT, sizeof(int), ints},
                                 {MPI_LONG, sizeof(long), longs}};
    const struct kind real[] = {{MPI_FLOAT, 4, floats}, {MPI_DOUBLE, 8, doubles}};
    const struct kind located[] = {{MPI_2INT, 8, int_pairs}};
    const MPI_Op of_all[] = {MPI_SUM, MPI_MAX, MPI_MIN};
    const MPI_Op of_whole[] = {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
    const MPI_Op of_located[] = {MPI_MAXLOC, MPI_MINLOC};
    for (int o = 0; o < 3; ++o) {
        for (int k = 0; k < 4; ++k) reduce_everywhere(MPI_COMM_WORLD, &whole[k], of_all[o], 17);
        for (int k = 0; k < 2; ++k) reduce_everywhere(MPI_COMM_WORLD, &real[k], of_all[o], 17);
    }
    for (int o = 0; o < 6; ++o) {
        reduce_everywhere(MPI_COMM_WORLD, &whole[o % 4], of_whole[o], 17);
    }
    for (int o = 0; o < 2; ++o) {
        reduce_everywhere(MPI_COMM_WORLD, located, of_located[o], 17);
    }
    struct kind map = {MPI_DATATYPE_NULL, sizeof(struct map), maps};
    MPI_Op composition;
    MPI_Type_contiguous(2, MPI_LONG, &map.type);
    MPI_Type_commit(&map.type);
    MPI_Op_create(compose, 0, &composition);
    for (int c = 0; c < counts_number; ++c) {
        reduce_everywhere(MPI_COMM_WORLD, &whole[2], MPI_SUM, counts_of_elements[c]);
        reduce_everywhere(MPI_COMM_WORLD, &map, composition, counts_of_elements[c]);
    }
    MPI_Op_free(&composition);
    MPI_Type_free(&map.type);
}

/* Structures with padding, whose elements stand apart. */
struct record {
    char letter;
    double value;
    short number;
};

static MPI_Datatype record_type(void) {
    const int lengths[] = {1, 1, 1};
    const MPI_Aint places[] = {offsetof(struct record, letter), offsetof(struct record, value),
                               offsetof(struct record, number)};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    MPI_Datatype packed, type;
    MPI_Type_create_struct(3, lengths, places, types, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(struct record), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&packed);
    return type;
}

static struct record record_of(int from, int to, int i) {
    struct record made;
    memset(&made, 0, sizeof made);
    made.letter = (char)number(from, i), made.value = to, made.number = (short)(from * 100 + i);
    return made;
}

static void expect_record(const struct record *given, int from, int to, int i, const char *what) {
    const struct record wanted = record_of(from, to, i);
    expect(given->letter == wanted.letter && given->value == wanted.value &&
               given->number == wanted.number,
           1, what);
}

static void move_records(MPI_Comm comm, int count) {
    const MPI_Datatype committed = record_type();
    MPI_Datatype type = committed;
    const size_t n = (size_t)(count * ranks) + 1;
    struct record *out = calloc(n, sizeof *out), *in = calloc(n, sizeof *in);
    for (int root = 0; root < ranks; root += (ranks > 4 ? 3 : 1)) {
        for (int i = 0; i < count; ++i) in[i] = record_of(rank, 0, i);
        MPI_Bcast(in, count, type, root, comm);
        for (int i = 0; i < count; ++i) expect_record(in + i, root, 0, i, "bcast of records");
        for (int to = 0; to < ranks; ++to) {
            for (int i = 0; i < count; ++i) out[to * count + i] = record_of(rank, to, i);
        }
        MPI_Scatter(out, count, type, in, count, type, root, comm);
        for (int i = 0; i < count; ++i) expect_record(in + i, root, rank, i, "scatter of records");
        MPI_Scatter(out, count, type, rank == root ? MPI_IN_PLACE : in, count, type, root, comm);
        if (rank != root) {
            for (int i = 0; i < count; ++i) {
                expect_record(in + i, root, rank, i, "scatter in place");
            }
        }
        MPI_Gather(out + root * count, count, type, in, count, type, root, comm);
        for (int from = 0; rank == root && from < ranks; ++from) {
            for (int i = 0; i < count; ++i) {
                expect_record(in + from * count + i, from, root, i, "gather of records");
            }
        }
    }
    MPI_Alltoall(out, count, type, in, count, type, comm);
    for (int from = 0; from < ranks; ++from) {
        for (int i = 0; i < count; ++i) {
            expect_record(in + from * count + i, from, rank, i, "alltoall of records");
        }
    }
    memcpy(in, out, n * sizeof *in);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, count, type, comm);
    for (int from = 0; from < ranks; ++from) {
        for (int i = 0; i < count; ++i) {
            expect_record(in + from * count + i, from, rank, i, "alltoall in place");
        }
    }
    MPI_Allgather(out, count, type, in, count, type, comm);
    for (int from = 0; from < ranks; ++from) {
        for (int i = 0; i < count; ++i) {
            expect_record(in + from * count + i, from, 0, i, "allgather of records");
        }
    }
    MPI_Type_free(&type);
    free(out), free(in);
}

/* Blocks of different lengths, last rank first, with gaps; the type is an integer with room. */
static void move_uneven_blocks(int longest) {
    int counts[ranks_max], places[ranks_max], total = 0;
    MPI_Datatype spaced;
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    for (int r = ranks - 1; r >= 0; --r) {
        counts[r] = longest == 0 ? 0 : (r * 5 + 1) % (longest + 1);
        places[r] = total + 1;
        total += counts[r] + 2;
    }
    int *all = calloc(3 * (size_t)total + 3, sizeof *all);
    int *mine = calloc((size_t)longest + 1, sizeof *mine);
    for (int root = 0; root < ranks; ++root) {
        for (int r = 0; r < ranks; ++r) {
            for (int i = 0; i < counts[r]; ++i) all[3 * (places[r] + i)] = number(r, i) + root;
        }
        MPI_Scatterv(all, rank == root ? counts : NULL, rank == root ? places : NULL, spaced, mine,
                     counts[rank], MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < counts[rank]; ++i) expect(mine[i], number(rank, i) + root, "scatterv");
        memset(all, 0, 3 * (size_t)total * sizeof *all);
        MPI_Gatherv(mine, counts[rank], MPI_INT, all, rank == root ? counts : NULL,
                    rank == root ? places : NULL, spaced, root, MPI_COMM_WORLD);
        for (int r = 0; rank == root && r < ranks; ++r) {
            for (int i = 0; i < counts[r]; ++i) {
                expect(all[3 * (places[r] + i)], number(r, i) + root, "gatherv");
            }
        }
        if (ranks < ranks_of_right_allgatherv) continue;
        memset(all, 0, 3 * (size_t)total * sizeof *all);
        MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, places, spaced, MPI_COMM_WORLD);
        for (int r = 0; r < ranks; ++r) {
            for (int i = 0; i < counts[r]; ++i) {
                expect(all[3 * (places[r] + i)], number(r, i) + root, "allgatherv");
            }
            expect(all[3 * (places[r] + counts[r])], 0, "what is behind a block");
        }
    }
    MPI_Type_free(&spaced);
    free(all), free(mine);
}

static int count_between(int from, int to, int longest) {
    return longest == 0 ? 0 : (from * 5 + to * 3 + from * to) % (longest + 1);
}

static int number_between(int from, int to, int i) {
    return 1000 * from + 100 * to + i % 100;
}

/* One side of an exchange: blocks of spaced integers, the last rank's first, with gaps. */
struct side {
    int counts[ranks_max], places[ranks_max], places_bytes[ranks_max];
    MPI_Datatype types[ranks_max];
    int *numbers;
    size_t bytes;
};

/* The side that sends holds its numbers; that which receives is empty. */
static void lay_out(struct side *side, int sends, int longest, MPI_Datatype type) {
    int total = 0;
    for (int r = ranks - 1; r >= 0; --r) {
        side->counts[r] = sends ? count_between(rank, r, longest) : count_between(r, rank, longest);
        side->places[r] = total + 1;
        side->places_bytes[r] = 3 * (int)sizeof(int) * (total + 1);
        side->types[r] = type;
        total += side->counts[r] + 2;
    }
    side->bytes = (3 * (size_t)total + 3) * sizeof(int);
    side->numbers = calloc(1, side->bytes);
    for (int r = 0; sends && r < ranks; ++r) {
        for (int i = 0; i < side->counts[r]; ++i) {
            side->numbers[3 * (side->places[r] + i)] = number_between(rank, r, i);
        }
    }
}

static void expect_blocks(struct side *side, const char *what) {
    for (int r = 0; r < ranks; ++r) {
        for (int i = 0; i < side->counts[r]; ++i) {
            expect(side->numbers[3 * (side->places[r] + i)], number_between(r, rank, i), what);
        }
        expect(side->numbers[3 * (side->places[r] + side->counts[r])], 0, "what is behind a block");
    }
    memset(side->numbers, 0, side->bytes);
}

/* Blocks of integers that are overwritten by those of the others. */
static void exchange_in_place(int longest) {
    int counts[ranks_max], places[ranks_max];
    int *numbers = calloc((size_t)(ranks * longest) + 1, sizeof *numbers);
    for (int r = 0; r < ranks; ++r) {
        counts[r] = (r + rank) % 3 ? longest / 2 : 0, places[r] = r * longest;
        for (int i = 0; i < counts[r]; ++i) numbers[places[r] + i] = number_between(rank, r, i);
    }
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, numbers, counts, places, MPI_INT,
                  MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        for (int i = 0; i < counts[r]; ++i) {
            expect(numbers[places[r] + i], number_between(r, rank, i), "alltoallv in place");
        }
    }
    free(numbers);
}

/* Each rank gives each other a block of another length, also without waiting. */
static void exchange_uneven_blocks(int longest) {
    MPI_Datatype spaced;
    MPI_Request requests[2];
    struct side out, in, others;
    MPI_Type_create_resized(MPI_INT, 0, 3 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    lay_out(&out, 1, longest, spaced), lay_out(&in, 0, longest, spaced);
    lay_out(&others, 0, longest, spaced);
    MPI_Alltoallv(out.numbers, out.counts, out.places, spaced, in.numbers, in.counts, in.places,
                  spaced, MPI_COMM_WORLD);
    expect_blocks(&in, "alltoallv");
    MPI_Alltoallw(out.numbers, out.counts, out.places_bytes, out.types, in.numbers, in.counts,
                  in.places_bytes, in.types, MPI_COMM_WORLD);
    if (ranks > 1) expect_blocks(&in, "alltoallw"); /* alone Open MPI 4.1 misses the place */
    memset(in.numbers, 0, in.bytes);
    MPI_Ialltoallv(out.numbers, out.counts, out.places, spaced, in.numbers, in.counts, in.places,
                   spaced, MPI_COMM_WORLD, &requests[0]);
    MPI_Ialltoallw(out.numbers, out.counts, out.places_bytes, out.types, others.numbers,
                   others.counts, others.places_bytes, others.types, MPI_COMM_WORLD, &requests[1]);
    MPI_Type_free(&spaced);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect_blocks(&in, "ialltoallv");
    if (ranks > 1) expect_blocks(&others, "ialltoallw");
    exchange_in_place(longest);
    free(out.numbers), free(in.numbers), free(others.numbers);
}

/* Where the data lies is in the type. */
static void from_the_bottom(void) {
    int values[3] = {rank == 0 ? 8 : 0, 1, rank == 0 ? 9 : 0};
    const int ones[] = {1, 1};
    MPI_Aint places[2];
    MPI_Datatype there;
    MPI_Get_address(&values[2], &places[0]);
    MPI_Get_address(&values[0], &places[1]);
    MPI_Type_create_hindexed(2, ones, places, MPI_INT, &there);
    MPI_Type_commit(&there);
    MPI_Bcast(MPI_BOTTOM, 1, there, 0, MPI_COMM_WORLD);
    MPI_Type_free(&there);
    expect(values[0] * 100 + values[1] * 10 + values[2], 819, "bcast from the bottom");
}

/* Ranks in the reverse order, and a communicator that comes and goes. */
static void on_other_communicators(void) {
    const struct kind kind = {MPI_INT, sizeof(int), ints};
    for (int round = 0; round < 3; ++round) {
        MPI_Comm comm;
        const int own = rank;
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        MPI_Comm_rank(comm, &rank);
        reduce_everywhere(comm, &kind, MPI_SUM, 5);
        move_records(comm, 2);
        rank = own;
        MPI_Comm_free(&comm);
    }
}

static void many_requests(void) {
    enum { flights = 12 };
    MPI_Request requests[flights];
    int in[flights], out[flights], blocks[flights][ranks_max], index, ended = 0;
    for (int i = 0; i < flights; ++i) {
        in[i] = number(rank, i), out[i] = i % ranks == rank ? 50 + i : -1;
        switch (i % 4) {
            case 0: MPI_Ibcast(&out[i], 1, MPI_INT, i % ranks, MPI_COMM_WORLD, &requests[i]); break;
            case 1:
                MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[i]);
                break;
            case 2:
                MPI_Iallgather(&in[i], 1, MPI_INT, blocks[i], 1, MPI_INT, MPI_COMM_WORLD,
                               &requests[i]);
                break;
            default: MPI_Iscan(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    while (ended++ < flights) MPI_Waitany(flights, requests, &index, MPI_STATUS_IGNORE);
    for (int i = 0; i < flights; ++i) {
        int most = 0, sum = 0;
        for (int r = 0; r < ranks; ++r) {
            const int x = number(r, i);
            if (x > most) most = x;
            if (r <= rank) sum += x;
            if (i % 4 == 2) expect(blocks[i][r], x, "iallgather among many");
        }
        if (i % 4 == 0) expect(out[i], 50 + i, "ibcast among many");
        if (i % 4 == 1) expect(out[i], most, "iallreduce among many");
        if (i % 4 == 3) expect(out[i], sum, "iscan among many");
    }
}

static void *sum_again_and_again(void *given) {
    MPI_Comm comm = *(MPI_Comm *)given;
    for (int round = 0; round < 50; ++round) {
        int mine = rank + round, sum = 0, word = rank == round % ranks ? round : -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Bcast(&word, 1, MPI_INT, round % ranks, comm);
        if (sum != ranks * (ranks - 1) / 2 + ranks * round || word != round) return given;
    }
    return NULL;
}

static void in_threads(void) {
    MPI_Comm comms[2];
    pthread_t threads[2];
    for (int t = 0; t < 2; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    for (int t = 0; t < 2; ++t) pthread_create(&threads[t], NULL, sum_again_and_again, &comms[t]);
    for (int t = 0; t < 2; ++t) {
        void *failed = NULL;
        pthread_join(threads[t], &failed);
        expect(failed != NULL, 0, "calls of threads");
    }
    for (int t = 0; t < 2; ++t) MPI_Comm_free(&comms[t]);
}

int main(int argc, char **argv) {
    int provided = 0, worst = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    reduce_all_kinds();
    for (int c = 0; c < 4; ++c) move_records(MPI_COMM_WORLD, counts_of_elements[c]);
    move_records(MPI_COMM_WORLD, 1000);
    for (int longest = 0; longest < 400; longest = 5 * longest + 1) move_uneven_blocks(longest);
    for (int longest = 0; longest < 400; longest = 7 * longest + 3) {
        exchange_uneven_blocks(longest);
    }
    from_the_bottom();
    on_other_communicators();
    many_requests();
    if (provided == MPI_THREAD_MULTIPLE) in_threads();
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
