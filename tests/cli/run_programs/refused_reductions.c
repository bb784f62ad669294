/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions that no MPI does: by operators of the MPI of types that they do not take, or of no
 * type.  Each has to return an error on its communicator, where the program handles errors, though
 * it does not on MPI_COMM_WORLD, and to leave what is behind its buffers alone.  Rank 0 prints "all
 * right"; what was not refused goes to standard error.  With an argument each reduction has a type.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "persistent_names.h"

enum { ROOM = 4096, ELEMENT = 64 };
#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct type {
    const char *name;
    MPI_Datatype type;
};
struct op {
    const char *name;
    MPI_Op op;
};

static MPI_Comm comm;
static int wrong;

static void expect(int refused, const char *call, struct type type, struct op op) {
    if (refused) return;
    ++wrong;
    fprintf(stderr, "%s of %s by %s is not refused\n", call, type.name, op.name);
}

static void refuse_one(struct type type, struct op op) {
    unsigned char mine[ROOM] = {0}, all[ROOM] = {0}, untouched[ROOM] = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_Allreduce(mine, all, 1, type.type, op.op, comm);
    expect(code != MPI_SUCCESS, "allreduce", type, op);
    code = MPI_Iallreduce(mine, all, 1, type.type, op.op, comm, &request);
    expect(code != MPI_SUCCESS, "iallreduce", type, op);
    if (code == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
    code = MPI_Allreduce_init(mine, all, 1, type.type, op.op, comm, MPI_INFO_NULL, &request);
    expect(code != MPI_SUCCESS, "allreduce_init", type, op);
    if (code == MPI_SUCCESS) MPI_Request_free(&request);
    code = MPI_Reduce(mine, all, 1, type.type, op.op, 0, comm);
    expect(code != MPI_SUCCESS, "reduce", type, op);
    expect(memcmp(all + ELEMENT, untouched, ROOM - ELEMENT) == 0, "memory", type, op);
}

static void refuse(const struct type *types, int type_count, const struct op *ops, int op_count) {
    for (int t = 0; t < type_count; ++t) {
        for (int o = 0; o < op_count; ++o) refuse_one(types[t], ops[o]);
    }
}

int main(int argc, char **argv) {
    MPI_Datatype copy, f90_complex;
    int rank = 0, worst = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_dup(MPI_DOUBLE, &copy);
    MPI_Type_create_f90_complex(15, 307, &f90_complex);
    const struct op arithmetic[] = {
        {"sum", MPI_SUM}, {"prod", MPI_PROD}, {"max", MPI_MAX}, {"min", MPI_MIN}};
    const struct op extremes[] = {{"max", MPI_MAX}, {"min", MPI_MIN}};
    const struct op places[] = {{"maxloc", MPI_MAXLOC}, {"minloc", MPI_MINLOC}};
    const struct type unknown[] = {{"a copy of double", copy}, {"no type", MPI_DATATYPE_NULL}};
    const int unknown_count = COUNT_OF(unknown) - (argc > 1);
    const struct type pairs[] = {
        {"float_int", MPI_FLOAT_INT}, {"double_int", MPI_DOUBLE_INT},
        {"long_int", MPI_LONG_INT},   {"2int", MPI_2INT},
        {"short_int", MPI_SHORT_INT}, {"long_double_int", MPI_LONG_DOUBLE_INT}};
    const struct type numbers[] = {{"int", MPI_INT},
                                   {"float", MPI_FLOAT},
                                   {"double", MPI_DOUBLE},
                                   {"long double", MPI_LONG_DOUBLE},
                                   {"double complex", MPI_C_DOUBLE_COMPLEX}};
    const struct type complex_numbers[] = {{"float complex", MPI_C_FLOAT_COMPLEX},
                                           {"double complex", MPI_C_DOUBLE_COMPLEX},
                                           {"long double complex", MPI_C_LONG_DOUBLE_COMPLEX},
                                           {"f90 complex", f90_complex}};
    refuse(unknown, unknown_count, arithmetic, COUNT_OF(arithmetic));
    refuse(unknown, unknown_count, places, COUNT_OF(places));
    refuse(pairs, COUNT_OF(pairs), arithmetic, COUNT_OF(arithmetic));
    refuse(numbers, COUNT_OF(numbers), places, COUNT_OF(places));
    refuse(complex_numbers, COUNT_OF(complex_numbers), extremes, COUNT_OF(extremes));
    MPI_Type_free(&copy);
    MPI_Comm_free(&comm);
    MPI_Reduce(&wrong, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0 && worst == 0) printf("all right\n");
    return MPI_Finalize();
}
