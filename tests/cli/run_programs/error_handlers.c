/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error handlers that are set after the first call, an error that the MPI itself has to find, and
 * callbacks that nobody should run: rank 0 prints "all right", or every rank says what is not.
 */
#include <mpi.h>
#include <stdio.h>

static int rank, ranks, wrong, copies, handled;
static MPI_Comm handled_on;

static void expect(int value, int wanted, const char *what) {
    if (value == wanted) return;
    if (wrong++ == 0) fprintf(stderr, "rank %d: %s: %d, not %d\n", rank, what, value, wanted);
}

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    ++copies;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void handle(MPI_Comm *comm, int *code, ...) {
    int error_class = 0;
    MPI_Error_class(*code, &error_class);
    if (error_class == MPI_ERR_TRUNCATE) ++handled;
    handled_on = *comm;
}

static int scatter(int sent, int received, MPI_Comm comm) {
    int send[16 * 64] = {0}, receive[16];
    return MPI_Scatter(send, sent, MPI_INT, receive, received, MPI_INT, 0, comm);
}

/* The ranks of odd number have room for less than the root sends, which is wrong. */
static int truncate_odd(MPI_Comm comm) {
    return scatter(8, rank % 2 ? 2 : 8, comm);
}

static int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/* MPI-4 has the handler of MPI_COMM_SELF told of it, MPI-3 that of MPI_COMM_WORLD. */
static void free_no_request(void) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect(MPI_Request_free(NULL) != MPI_SUCCESS, 1, "a null pointer refused");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    int key, value = 0, worst = 0;
    MPI_Comm comm, other;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, &value);
    scatter(8, 8, comm);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    expect(copies, 0, "attributes copied");

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect(class_of(truncate_odd(comm)), rank % 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS, "returned");

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    handled_on = MPI_COMM_NULL;
    truncate_odd(comm);
    expect(handled, rank % 2, "errors handled");
    expect(handled_on == (rank % 2 ? comm : MPI_COMM_NULL), 1, "handled on the communicator");

    /* For the odd ranks the last of these is the call that they have made before. */
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; ++i) scatter(8, 8, other);
    MPI_Comm_set_errhandler(other, handler);
    handled = 0;
    scatter(16, rank % 2 ? 8 : 16, other);
    expect(handled, rank % 2, "errors of a call made before handled");
    MPI_Comm_free(&other);
    MPI_Errhandler_free(&handler);
    free_no_request();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&comm);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    MPI_Finalize();
    return wrong != 0;
}
