/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives whose buffers are in the memory of a GPU, on all ranks and on some, in memory of the
 * host that the GPU knows, and in ordinary memory. All ranks share the first GPU. The driver is
 * loaded by name, so nothing of CUDA is needed to compile this.
 *
 *   gpu_memory all                   every case that Open MPI 4.1 can do
 *   gpu_memory one FORM CALL WHERE   a single case, such as: one nonblocking allreduce gpu
 *   gpu_memory late                  the driver is loaded after the first collective
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "persistent_names.h"

enum { no_gpu = 77, longest = 20000, ranks_max = 8 };

typedef enum { blocking, nonblocking, persistent, form_count } form;
static const char *const forms[] = {"blocking", "nonblocking", "persistent"};

typedef enum {
    bcast,
    scatter,
    gather,
    allgather,
    alltoall,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    call_count
} call;
static const char *const calls[] = {"bcast",     "scatter",        "gather",
                                    "allgather", "alltoall",       "reduce",
                                    "allreduce", "reduce_scatter", "reduce_scatter_block",
                                    "scan",      "exscan"};

/* Where the buffers are: "some" is the GPU on odd ranks and the host on even ones, and the last two
   are the GPU for what is sent, or for what is received. */
typedef enum {
    host,
    locked,
    registered,
    managed,
    pool,
    gpu,
    some,
    only_sent,
    only_received,
    place_count
} place;
static const char *const places[] = {"host", "locked", "registered", "managed",      "pool",
                                     "gpu",  "some",   "only_sent",  "only_received"};

typedef uint64_t address;
static struct {
    int (*init)(unsigned);
    int (*get)(int *, int);
    int (*name)(char *, int, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*allocate)(address *, size_t);
    int (*allocate_managed)(address *, size_t, unsigned);
    int (*allocate_in_pool)(address *, size_t, void *);
    int (*allocate_locked)(void **, size_t);
    int (*lock)(void *, size_t, unsigned);
    int (*copy)(address, address, size_t);
    int (*wait)(void);
} cuda;

static int rank, ranks;
static char current[200];
static double *sent[gpu + 1], *received[gpu + 1];
static double mine[ranks_max * longest], wanted[ranks_max * longest], found[ranks_max * longest];

static void leave(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must(int code, const char *what) {
    char text[100];
    if (code == 0) return;
    snprintf(text, sizeof text, "%s returned %d", what, code);
    leave(text);
}

static void *of_driver(void *driver, const char *name) {
    void *function = dlsym(driver, name);
    if (!function) leave(name);
    return function;
}

#define LOOK_UP(member, name) *(void **)&cuda.member = of_driver(driver, name)

static double *allocated(place where, size_t bytes) {
    address made = 0;
    void *memory = NULL;
    if (where == gpu) must(cuda.allocate(&made, bytes), "cuMemAlloc");
    if (where == pool) must(cuda.allocate_in_pool(&made, bytes, NULL), "cuMemAllocAsync");
    if (where == managed) must(cuda.allocate_managed(&made, bytes, 1), "cuMemAllocManaged");
    if (made) return (double *)made;
    if (where == locked) {
        must(cuda.allocate_locked(&memory, bytes), "cuMemAllocHost");
        return memory;
    }
    memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (where == registered) must(cuda.lock(memory, bytes, 0), "cuMemHostRegister");
    return memory;
}

/* Returns 0 where there is no GPU. */
static int load_driver(void) {
    void *context = NULL, *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    char name[100] = "";
    int device = 0;
    if (!driver) return 0;
    LOOK_UP(init, "cuInit");
    LOOK_UP(get, "cuDeviceGet");
    LOOK_UP(name, "cuDeviceGetName");
    LOOK_UP(retain, "cuDevicePrimaryCtxRetain");
    LOOK_UP(set_current, "cuCtxSetCurrent");
    LOOK_UP(allocate, "cuMemAlloc_v2");
    LOOK_UP(allocate_managed, "cuMemAllocManaged");
    LOOK_UP(allocate_in_pool, "cuMemAllocAsync");
    LOOK_UP(allocate_locked, "cuMemAllocHost_v2");
    LOOK_UP(lock, "cuMemHostRegister_v2");
    LOOK_UP(copy, "cuMemcpy");
    LOOK_UP(wait, "cuCtxSynchronize");
    if (cuda.init(0) != 0 || cuda.get(&device, 0) != 0) return 0;
    must(cuda.name(name, sizeof name, device), "cuDeviceGetName");
    must(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(cuda.set_current(context), "cuCtxSetCurrent");
    if (rank == 0) printf("%s\n", name);
    for (place where = host; where <= gpu; ++where) {
        sent[where] = allocated(where, sizeof mine);
        received[where] = allocated(where, sizeof mine);
    }
    return 1;
}

static void copy(double *to, const double *from) {
    must(cuda.copy((address)to, (address)from, sizeof mine), "cuMemcpy");
    must(cuda.wait(), "cuCtxSynchronize");
}

static double value(int of, int i) {
    return of * 1000 + i % 89;
}

static double sum_of(int first, int end, int i) {
    double sum = 0;
    for (int r = first; r < end; ++r) sum += value(r, i);
    return sum;
}

/* What this rank gets, and how many elements it gets. */
static int expect(call of, int count, int in_place) {
    const int blocks = of == gather || of == allgather || of == alltoall ? ranks : 1;
    const int last = ranks - 1;
    if (of == gather && rank != 0) return 0;
    if (of == scatter && rank == 0 && in_place) return 0;
    if (of == reduce && rank != last) return 0;
    if (of == exscan && rank == 0) return 0;
    for (int i = 0; i < blocks * count; ++i) {
        const int r = i / count, own = rank * count + i;
        switch (of) {
            case bcast: wanted[i] = value(0, i); break;
            case scatter: wanted[i] = value(0, own); break;
            case alltoall: wanted[i] = value(r, rank * count + i % count); break;
            case reduce_scatter:
            case reduce_scatter_block: wanted[i] = sum_of(0, ranks, own); break;
            case scan: wanted[i] = sum_of(0, rank + 1, i); break;
            case exscan: wanted[i] = sum_of(0, rank, i); break;
            case reduce:
            case allreduce: wanted[i] = sum_of(0, ranks, i); break;
            default: wanted[i] = value(r, i % count);
        }
    }
    return blocks * count;
}

static int is_reduction(call of) {
    return of >= reduce;
}

/* Data in the buffers, as the call wants them. */
static void fill(call of, int count, int in_place, double *out, double *in) {
    for (int i = 0; i < ranks * count; ++i) mine[i] = value(rank, i);
    copy(out, mine);
    if (of == allgather && in_place) {
        for (int i = 0; i < count; ++i) mine[rank * count + i] = value(rank, i);
    }
    if (!in_place && of != bcast) memset(mine, 0xff, sizeof mine);
    copy(in, mine);
}

#define START(name, lower, ...)                                                       \
    do {                                                                              \
        if (as == blocking) MPI_##name(__VA_ARGS__);                                  \
        if (as == nonblocking) MPI_I##lower(__VA_ARGS__, request);                    \
        if (as == persistent) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request); \
    } while (0)

static void start(form as, call of, int count, int in_place, double *out, double *in,
                  MPI_Request *request) {
    const MPI_Datatype type = MPI_DOUBLE;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const int last = ranks - 1;
    const int at_root = in_place && rank == (of == reduce ? last : 0);
    void *from = in_place && of != bcast ? MPI_IN_PLACE : out;
    void *from_root = at_root ? MPI_IN_PLACE : out;
    static int counts[ranks_max];
    for (int r = 0; r < ranks; ++r) counts[r] = count;
    switch (of) {
        case bcast: START(Bcast, bcast, in, count, type, 0, comm); break;
        case scatter:
            START(Scatter, scatter, out, count, type, at_root ? MPI_IN_PLACE : in, count, type, 0,
                  comm);
            break;
        case gather: START(Gather, gather, from_root, count, type, in, count, type, 0, comm); break;
        case allgather:
            START(Allgather, allgather, from, count, type, in, count, type, comm);
            break;
        case alltoall: START(Alltoall, alltoall, from, count, type, in, count, type, comm); break;
        case reduce: START(Reduce, reduce, from_root, in, count, type, MPI_SUM, last, comm); break;
        case allreduce: START(Allreduce, allreduce, from, in, count, type, MPI_SUM, comm); break;
        case reduce_scatter:
            START(Reduce_scatter, reduce_scatter, from, in, counts, type, MPI_SUM, comm);
            break;
        case reduce_scatter_block:
            START(Reduce_scatter_block, reduce_scatter_block, from, in, count, type, MPI_SUM, comm);
            break;
        case scan: START(Scan, scan, from, in, count, type, MPI_SUM, comm); break;
        default: START(Exscan, exscan, from, in, count, type, MPI_SUM, comm);
    }
}

/* Returns whether the result is right on all ranks. */
static int is_right(call of, int count, int in_place, const double *in) {
    const int elements = expect(of, count, in_place);
    int right = 1;
    copy(found, in);
    for (int i = 0; i < elements && right; ++i) {
        if (found[i] == wanted[i]) continue;
        fprintf(stderr, "rank %d: %s: element %d is %g, not %g\n", rank, current, i, found[i],
                wanted[i]);
        right = 0;
    }
    PMPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right;
}

static int try_once(form as, call of, place where, int count, int in_place) {
    const place here = where == some ? (rank % 2 ? gpu : host) : where;
    double *out = sent[here == only_sent ? gpu : here == only_received ? host : here];
    double *in = received[here == only_sent ? host : here == only_received ? gpu : here];
    MPI_Request request = MPI_REQUEST_NULL;
    int right = 1;
    snprintf(current, sizeof current, "%s %s %s, %d elements%s", forms[as], calls[of],
             places[where], count, in_place ? ", in place" : "");
    if (as == persistent) start(as, of, count, in_place, out, in, &request);
    for (int round = 0; round < (as == persistent ? 2 : 1); ++round) {
        fill(of, count, in_place, out, in);
        if (as == persistent) {
            MPI_Start(&request);
        } else {
            start(as, of, count, in_place, out, in, &request);
        }
        if (as != blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
        right &= is_right(of, count, in_place, in);
    }
    if (as == persistent) MPI_Request_free(&request);
    return right;
}

/* Open MPI 4.1 adds one block of the vector only. */
static int is_wrong_in_the_mpi(form as, call of, place where, int in_place) {
    return as == blocking && of == reduce_scatter_block && in_place && where >= managed &&
           where != only_sent;
}

static int wrong_of(form as, call of, place where) {
    static const int sizes[] = {7, longest};
    int wrong = 0;
    for (int size = 0; size < 2; ++size) {
        for (int in_place = 0; in_place < (of == bcast ? 1 : 2); ++in_place) {
            if (is_wrong_in_the_mpi(as, of, where, in_place)) continue;
            wrong += !try_once(as, of, where, sizes[size], in_place);
        }
    }
    return wrong;
}

/* Open MPI 4.1 adds what it finds behind the pointer of the GPU by the host's processor. */
static int ends_the_mpi(form as, call of, place where) {
    return where >= managed && is_reduction(of) && as != blocking;
}

static int wrong_of_all(void) {
    int wrong = 0;
    for (form as = blocking; as < form_count; ++as) {
        for (call of = bcast; of < call_count; ++of) {
            for (place where = host; where < place_count; ++where) {
                if (!ends_the_mpi(as, of, where)) wrong += wrong_of(as, of, where);
            }
        }
    }
    return wrong;
}

static int index_of(const char *name, const char *const *names, int end) {
    for (int i = 0; i < end; ++i) {
        if (strcmp(name, names[i]) == 0) return i;
    }
    leave(name);
    return 0;
}

static void die(int number) {
    char text[300];
    const int length =
        snprintf(text, sizeof text, "rank %d: signal %d in %s\n", rank, number, current);
    if (write(2, text, (size_t)length) < 0) _exit(2);
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv) {
    int wrong = 0, number = 5;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    signal(SIGSEGV, die);
    signal(SIGBUS, die);
    if (argc < 2 || ranks > ranks_max) leave("say all, one or late, on at most 8 ranks");
    if (rank == 0) {
        printf("the driver is %s by MPI_Init\n",
               dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) ? "loaded" : "not loaded");
    }
    const int is_late = strcmp(argv[1], "late") == 0;
    if (is_late) MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!load_driver()) {
        if (rank == 0) printf("no GPU\n");
        MPI_Finalize();
        return no_gpu;
    }
    if (is_late) {
        wrong = wrong_of(blocking, bcast, gpu) + wrong_of(blocking, allreduce, gpu);
    } else if (argc == 5 && strcmp(argv[1], "one") == 0) {
        wrong = wrong_of(index_of(argv[2], forms, form_count), index_of(argv[3], calls, call_count),
                         index_of(argv[4], places, place_count));
    } else {
        wrong = wrong_of_all();
    }
    if (rank == 0 && wrong == 0) printf("all right\n");
    if (rank == 0 && wrong != 0) printf("%d wrong\n", wrong);
    fflush(stdout);
    MPI_Finalize();
    return wrong != 0;
}
