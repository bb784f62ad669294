/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sum: exact sums and products of floating-point numbers, the same bits however they are combined.
 *
 *     double total = 0.0;
 *     lw_sum_f64(values, count, &total);
 *
 *     lw_accumulator *energy = NULL;
 *     lw_accumulator_create(&energy);
 *     lw_accumulator_add_f64(energy, mine, count);
 *     lw_accumulator_allreduce(energy, MPI_COMM_WORLD);
 *     lw_accumulator_f64(energy, &total);
 *     lw_accumulator_free(energy);
 *
 * A sum is rounded once, at its end, to the nearest number (ties to even).  It therefore
 * depends neither on the order of its addends nor on how threads and ranks share them.  A NaN, or
 * infinities of both signs, give a quiet NaN without payload; infinities of one sign give that
 * infinity; a sum of nothing but -0 is -0, and every other sum of zero is +0.  A sum that is too
 * large for the format is infinite.
 *
 * A product is also rounded once, so it depends on neither of these:
 *
 *     double weight = 0.0;
 *     lw_prod_f64(values, count, &weight);
 *
 * Only the final product can be too large or too small for the format.  Of real numbers, a NaN, or
 * a zero and an infinity, give a quiet NaN without payload; zeros and infinities have the product
 * of all signs.  The product of nothing is 1.
 *
 * C++ has <lanewise/sum.hpp>, Fortran the module lanewise_sum in <lanewise/sum.f90>, and Python
 * lanewise.sum and lanewise.prod.
 *
 * lw_exact_allreduce and lw_exact_reduce add vectors over the ranks of a communicator in this way:
 * MPI_SUM of MPI_DOUBLE, MPI_FLOAT, their complex types, and those of Fortran.
 * lw_exact_allreduce_prod and lw_exact_reduce_prod multiply vectors of the same types.
 */
#ifndef LANEWISE_SUM_H
#define LANEWISE_SUM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include <lanewise/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sum of `count` numbers. */
LW_API lw_status lw_sum_f64(const double *values, size_t count, double *sum);
LW_API lw_status lw_sum_f32(const float *values, size_t count, float *sum);
/* Of `count` complex numbers, as pairs of real and imaginary parts; `sum` has both parts. */
LW_API lw_status lw_sum_c128(const double *values, size_t count, double *sum);
LW_API lw_status lw_sum_c64(const float *values, size_t count, float *sum);

/* A sum that grows.  One thread at a time may use it; threads that have one each merge them. */
typedef struct lw_accumulator lw_accumulator;

/* Stores a sum of nothing in `*accumulator`; free it with lw_accumulator_free. */
LW_API lw_status lw_accumulator_create(lw_accumulator **accumulator);
LW_API void lw_accumulator_free(lw_accumulator *accumulator);

LW_API lw_status lw_accumulator_add_f64(lw_accumulator *accumulator, const double *values,
                                        size_t count);
LW_API lw_status lw_accumulator_add_f32(lw_accumulator *accumulator, const float *values,
                                        size_t count);
/* Add what `other` has to `accumulator`. */
LW_API lw_status lw_accumulator_merge(lw_accumulator *accumulator, const lw_accumulator *other);
/* On every rank, replace the sum by that of all ranks.  Collective over `comm`.  Fails with
   LW_ERR_UNSUPPORTED for an intercommunicator, and with LW_ERR_MPI where the communicator's error
   handler returns. */
LW_API lw_status lw_accumulator_allreduce(lw_accumulator *accumulator, MPI_Comm comm);

/* The same for a communicator of Fortran. */
LW_API lw_status lw_accumulator_allreduce_fortran(lw_accumulator *accumulator, MPI_Fint comm);

/*
 * A sum as integers, for programs that move sums by other means than MPI.  The words of up to
 * 2^30 accumulators may be added, word by word and in any order, to those of the sum of all.
 */
#define LW_ACCUMULATOR_WORDS 75
LW_API lw_status lw_accumulator_words(const lw_accumulator *accumulator, int64_t *words);
/* Replaces the sum by that of the words.  Fails with LW_ERR_ARGUMENT where they are those of no
   sum: a count below 0, or a digit that so many sums do not add up to. */
LW_API lw_status lw_accumulator_set_words(lw_accumulator *accumulator, const int64_t *words);

/* The sum so far, rounded to a format. */
LW_API lw_status lw_accumulator_f64(const lw_accumulator *accumulator, double *sum);
LW_API lw_status lw_accumulator_f32(const lw_accumulator *accumulator, float *sum);

/* The product of `count` numbers. */
LW_API lw_status lw_prod_f64(const double *values, size_t count, double *product);
LW_API lw_status lw_prod_f32(const float *values, size_t count, float *product);
/* Of `count` complex numbers, as pairs of real and imaginary parts; `product` has both parts, each
   the number nearest to the exact one.  An infinite part or a NaN makes both NaN; a part of zero is
   +0.  Where a part cancels to zero, the time grows with the square of `count`. */
LW_API lw_status lw_prod_c128(const double *values, size_t count, double *product);
LW_API lw_status lw_prod_c64(const float *values, size_t count, float *product);

/*
 * A product that grows, and does not keep its factors.  It holds the first 1024 bits, which decide
 * how it is rounded: always with up to 19 doubles or 42 floats, always where the product fits its
 * format or is half-way between two numbers, and otherwise unless the product is made to be within
 * 2^-900 of half-way.  Then lw_product_f64 and lw_product_f32 fail with LW_ERR_UNSUPPORTED, and
 * never give another number than lw_prod_f64 and lw_prod_f32 do.  The functions are used as those
 * of accumulators.
 */
typedef struct lw_product lw_product;

LW_API lw_status lw_product_create(lw_product **product);
LW_API void lw_product_free(lw_product *product);
LW_API lw_status lw_product_multiply_f64(lw_product *product, const double *values, size_t count);
LW_API lw_status lw_product_multiply_f32(lw_product *product, const float *values, size_t count);
LW_API lw_status lw_product_merge(lw_product *product, const lw_product *other);
LW_API lw_status lw_product_allreduce(lw_product *product, MPI_Comm comm);
LW_API lw_status lw_product_allreduce_fortran(lw_product *product, MPI_Fint comm);

/* A product as integers, for programs that move it by other means than MPI.  Do not add them:
   lw_product_merge multiplies the products that they are set to.  lw_product_set_words fails with
   LW_ERR_ARGUMENT where they are those of no product. */
#define LW_PRODUCT_WORDS 19
LW_API lw_status lw_product_words(const lw_product *product, int64_t *words);
LW_API lw_status lw_product_set_words(lw_product *product, const int64_t *words);

LW_API lw_status lw_product_f64(const lw_product *product, double *nearest);
LW_API lw_status lw_product_f32(const lw_product *product, float *nearest);

/*
 * As MPI_Allreduce and MPI_Reduce with MPI_SUM, MPI_IN_PLACE included.  Fails on every rank alike:
 * with LW_ERR_UNSUPPORTED for other types and for intercommunicators, and with LW_ERR_MEMORY where
 * a rank lacks memory; a product whose factors take at most 16 KiB together may fail on that rank
 * alone.  Where LW_ERR_MPI is returned, `receive` may have been written.
 */
LW_API lw_status lw_exact_allreduce(const void *send, void *receive, int count, MPI_Datatype type,
                                    MPI_Comm comm);
LW_API lw_status lw_exact_reduce(const void *send, void *receive, int count, MPI_Datatype type,
                                 int root, MPI_Comm comm);
/* The same with MPI_PROD. */
LW_API lw_status lw_exact_allreduce_prod(const void *send, void *receive, int count,
                                         MPI_Datatype type, MPI_Comm comm);
LW_API lw_status lw_exact_reduce_prod(const void *send, void *receive, int count, MPI_Datatype type,
                                      int root, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif /* LANEWISE_SUM_H */
