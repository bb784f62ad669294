/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent reductions of wild numbers beside the MPI's own persistent requests: started by each
 * rank in another order, one by one or together, and waited for and tested in every way.  Operator,
 * datatype and communicator of some are freed before the first start, and one request while it is
 * started.  Rank 0 prints "KIND N" where N elements of all ranks and rounds do not have the bits of
 * the bracketing of docs/same-bits.md, or where a request was not as MPI says; at the end "checked
 * N" with the number of starts.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "persistent_names.h"

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS
#endif
/* MPICH before 4.3 asks after a request only while the program does. */
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40300000
#define GOES_ON_BY_ITSELF
#endif

enum { BLOCK = 100, RANKS_MAX = 16, COUNT_MAX = BLOCK * RANKS_MAX, WAYS = 9, ROUNDS = 2 * WAYS };
enum {
    allreduce,
    reduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    in_place,
    joined,
    parted,
    counted,
    sent,
    received,
    requests_wrong,
    kinds
};
static const char *const names[kinds] = {
    "allreduce", "reduce",  "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan",  "in_place",       "joined",
    "parted",    "counted", "sending",        "receiving",
    "requests"};

typedef struct {
    double value, weight;
} weighted;

static int rank, ranks, round_now;
static long wrong[kinds], starts;
static double in[kinds][COUNT_MAX], out[kinds][COUNT_MAX];
static weighted joined_in[BLOCK], joined_out[BLOCK];
static int word_in, word_out;
static MPI_Datatype weighted_type;
/* Those that are there, as the program holds them. */
static int count;
static int kind_of[kinds];
static MPI_Request requests[kinds];

static double number(int of, int element) {
    const int exponent = (of * 37 + element + 11 * round_now) % 60 - 30;
    return ldexp(1.0 + of * 0.37 + element * 1e-3 + round_now * 1e-5, exponent);
}

/* Neither commutes nor associates, in floating point. */
static weighted join_two(weighted left, weighted right) {
    const weighted both = {left.value / 3 + right.value, left.weight + right.weight};
    return both;
}

static void join(void *left, void *right, int *length, MPI_Datatype *type) {
    for (int i = 0; i < *length; ++i) {
        weighted *to = (weighted *)right + i;
        *to = join_two(((weighted *)left)[i], *to);
        if (*type != weighted_type) to->weight = NAN;
    }
}

static weighted add_two(weighted left, weighted right) {
    const weighted both = {left.value + right.value, 0};
    return both;
}

/* What the first n ranks give as an element, in the balanced bracketing. */
static weighted balanced(weighted (*combine)(weighted, weighted), int n, int element) {
    weighted parts[RANKS_MAX];
    int left = n, pairs = n;
    for (int r = 0; r < n; ++r) {
        parts[r].value = number(r, element);
        parts[r].weight = combine == join_two ? r : 0;
    }
    for (int power = 1; power <= n; power *= 2) pairs = n - power;
    for (; left > 1; pairs = left / 2) {
        for (int i = 0; i < pairs; ++i) parts[i] = combine(parts[2 * i], parts[2 * i + 1]);
        for (int i = 2 * pairs; i < left; ++i) parts[i - pairs] = parts[i];
        left -= pairs;
    }
    return parts[0];
}

static void expect_sums(int kind, const double *sums, int n, int first, int length) {
    for (int i = 0; i < length; ++i) {
        const double expected = balanced(add_two, n, first + i).value;
        wrong[kind] += memcmp(&sums[i], &expected, sizeof expected) != 0;
    }
}

static MPI_Request *next(int kind) {
    kind_of[count] = kind;
    return &requests[count++];
}

/* The program holds what it passed no longer than it must. */
static void prepare_with_freed_handles(void) {
    MPI_Comm part;
    MPI_Op op;
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_DOUBLE, &weighted_type);
    MPI_Type_commit(&weighted_type);
    type = weighted_type;
    MPI_Op_create(join, 0, &op);
    MPI_Allreduce_init(joined_in, joined_out, BLOCK, type, op, MPI_COMM_WORLD, MPI_INFO_NULL,
                       next(joined));
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Comm_dup(MPI_COMM_WORLD, &part);
    MPI_Allreduce_init(in[parted], out[parted], BLOCK, MPI_DOUBLE, MPI_SUM, part, MPI_INFO_NULL,
                       next(parted));
    MPI_Comm_free(&part);
    wrong[joined] += op != MPI_OP_NULL || type != MPI_DATATYPE_NULL;
}

static int own_count(int of) {
    return of == 0 ? BLOCK : 10 * of;
}

static void prepare(void) {
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Info info = MPI_INFO_NULL;
    const int after = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    static int counts[RANKS_MAX];
    for (int r = 0; r < ranks; ++r) counts[r] = own_count(r);
    MPI_Send_init(&word_in, 1, MPI_INT, after, 0, comm, next(sent));
    MPI_Allreduce_init(in[allreduce], out[allreduce], COUNT_MAX, MPI_DOUBLE, MPI_SUM, comm, info,
                       next(allreduce));
    MPI_Reduce_init(in[reduce], out[reduce], BLOCK, MPI_DOUBLE, MPI_SUM, ranks - 1, comm, info,
                    next(reduce));
    MPI_Reduce_scatter_init(in[reduce_scatter], out[reduce_scatter], counts, MPI_DOUBLE, MPI_SUM,
                            comm, info, next(reduce_scatter));
    MPI_Reduce_scatter_block_init(in[reduce_scatter_block], out[reduce_scatter_block], BLOCK,
                                  MPI_DOUBLE, MPI_SUM, comm, info, next(reduce_scatter_block));
    MPI_Recv_init(&word_out, 1, MPI_INT, before, 0, comm, next(received));
    MPI_Scan_init(in[scan], out[scan], BLOCK, MPI_DOUBLE, MPI_SUM, comm, info, next(scan));
    MPI_Exscan_init(in[exscan], out[exscan], BLOCK, MPI_DOUBLE, MPI_SUM, comm, info, next(exscan));
    MPI_Allreduce_init(MPI_IN_PLACE, out[in_place], BLOCK, MPI_DOUBLE, MPI_SUM, comm, info,
                       next(in_place));
    prepare_with_freed_handles();
#ifdef HAS_LARGE_COUNTS
    MPI_Allreduce_init_c(in[counted], out[counted], BLOCK, MPI_DOUBLE, MPI_SUM, comm, info,
                         next(counted));
#endif
}

static void give(void) {
    for (int kind = 0; kind < kinds; ++kind) {
        for (int i = 0; i < COUNT_MAX; ++i) {
            in[kind][i] = number(rank, i);
            out[kind][i] = kind == in_place ? in[kind][i] : NAN;
        }
    }
    for (int i = 0; i < BLOCK; ++i) {
        joined_in[i].value = number(rank, i);
        joined_in[i].weight = rank;
        joined_out[i].value = joined_out[i].weight = NAN;
    }
    word_in = 100 * round_now + rank;
    word_out = -1;
}

/* Each rank in an order of its own. */
static void start(void) {
    if (round_now % 2 == 0) {
        MPI_Startall(count, requests);
    } else {
        for (int i = 0; i < count; ++i) {
            MPI_Start(&requests[rank % 2 == 0 ? (i + rank) % count : count - 1 - i]);
        }
    }
    starts += count;
}

static void wait_for_some(int tests) {
    int indices[kinds], done = 0, found = 0, flag = 0, index = 0;
    while (done != MPI_UNDEFINED) {
        if (tests)
            MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        if (done != MPI_UNDEFINED) found += done;
    }
    wrong[requests_wrong] += found != count;
    /* None is active, so there is nothing to wait for. */
    MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
    wrong[requests_wrong] += !flag || index != MPI_UNDEFINED;
}

static void wait_for_any(int tests) {
    int index = 0, found = 0, flag = 1;
    for (;;) {
        if (tests)
            MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
        else
            MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        if (flag && index == MPI_UNDEFINED) break;
        found += flag;
    }
    wrong[requests_wrong] += found != count;
}

static void wait_for_all(void) {
    int flag = 0;
    switch (round_now % WAYS) {
        case 0: MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); break;
        case 1:
            for (int i = count; i-- > 0;) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            break;
        case 2:
        case 3: wait_for_any(round_now % WAYS == 3); break;
        case 4:
        case 5: wait_for_some(round_now % WAYS == 5); break;
        case 6:
            for (int i = 0; i < count; ++i) {
                for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            }
            break;
        case 7:
            while (!flag) MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
            break;
        default:
            for (int i = 0; i < count; ++i) {
                for (flag = 0; !flag;) {
                    MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
                }
            }
            MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
}

static void check_inactive(void) {
    for (int i = 0; i < count; ++i) {
        MPI_Status status;
        int flag = 0, elements = -1;
        wrong[requests_wrong] += requests[i] == MPI_REQUEST_NULL;
        MPI_Wait(&requests[i], &status);
        MPI_Get_count(&status, MPI_BYTE, &elements);
        wrong[requests_wrong] +=
            status.MPI_SOURCE != MPI_ANY_SOURCE || status.MPI_TAG != MPI_ANY_TAG || elements != 0;
        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        wrong[requests_wrong] += !flag || requests[i] == MPI_REQUEST_NULL;
    }
}

static void check_sums(void) {
    int first = 0;
    for (int r = 0; r < rank; ++r) first += own_count(r);
    expect_sums(allreduce, out[allreduce], ranks, 0, COUNT_MAX);
    if (rank == ranks - 1) expect_sums(reduce, out[reduce], ranks, 0, BLOCK);
    expect_sums(reduce_scatter, out[reduce_scatter], ranks, first, own_count(rank));
    expect_sums(reduce_scatter_block, out[reduce_scatter_block], ranks, rank * BLOCK, BLOCK);
    expect_sums(scan, out[scan], rank + 1, 0, BLOCK);
    if (rank > 0) expect_sums(exscan, out[exscan], rank, 0, BLOCK);
    expect_sums(in_place, out[in_place], ranks, 0, BLOCK);
    expect_sums(parted, out[parted], ranks, 0, BLOCK);
#ifdef HAS_LARGE_COUNTS
    expect_sums(counted, out[counted], ranks, 0, BLOCK);
#endif
    for (int i = 0; i < BLOCK; ++i) {
        const weighted expected = balanced(join_two, ranks, i);
        wrong[joined] += memcmp(&joined_out[i], &expected, sizeof expected) != 0;
    }
    wrong[received] += word_out != 100 * round_now + (rank + ranks - 1) % ranks;
}

/* One that is freed while it is started ends all the same. */
static void free_all(void) {
    for (int i = 0; i < count; ++i) {
#ifdef GOES_ON_BY_ITSELF
        if (kind_of[i] == allreduce) MPI_Start(&requests[i]);
#endif
        MPI_Request_free(&requests[i]);
        wrong[requests_wrong] += requests[i] != MPI_REQUEST_NULL;
    }
}

/* Of what nobody can wait for; at most 30 seconds. */
static void see_its_end(void) {
#ifdef GOES_ON_BY_ITSELF
    const double begun = MPI_Wtime();
    const long before = wrong[allreduce];
    do {
        int flag = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        wrong[allreduce] = before;
        expect_sums(allreduce, out[allreduce], ranks, 0, COUNT_MAX);
    } while (wrong[allreduce] != before && MPI_Wtime() - begun < 30);
    MPI_Barrier(MPI_COMM_WORLD);
#endif
}

int main(int argc, char **argv) {
    long in_all[kinds] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    prepare();
    check_inactive();
    for (round_now = 0; round_now < ROUNDS; ++round_now) {
        give();
        start();
        wait_for_all();
        check_inactive();
        check_sums();
    }
    give();
    free_all();
    see_its_end();
    MPI_Reduce(wrong, in_all, kinds, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int k = 0; rank == 0 && k < kinds; ++k) {
        if (in_all[k]) printf("%s %ld\n", names[k], in_all[k]);
    }
    if (rank == 0) printf("checked %ld\n", starts);
    return MPI_Finalize();
}
