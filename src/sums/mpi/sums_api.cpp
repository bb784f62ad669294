// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of exact sums and products: checks, and no exception across it.

#include <lanewise/sum.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <new>
#include <span>

#include "sums/exact_sum.hpp"
#include "sums/long_product.hpp"
#include "sums/mpi/exact_reduction.hpp"
#include "sums/nearest_products.hpp"
#include "sums/plain_arithmetic.hpp"

struct lw_accumulator {
    lanewise::sums::ExactSum sum;
};

// The product of up to 19 doubles, or 42 floats, has no more bits. Of more factors these decide
// except with a probability of their number times 2^-969.
struct lw_product {
    static constexpr std::size_t words = 16;
    lanewise::sums::LongProduct product = lanewise::sums::LongProduct(words);
};

namespace {

using lanewise::sums::Combining;
using lanewise::sums::ExactSum;
using lanewise::sums::LongProduct;
using lanewise::sums::Numbers;
using lanewise::sums::PlainArithmetic;

lw_status status_of(int code) {
    if (code == MPI_ERR_NO_MEM) return LW_ERR_MEMORY;
    return code == MPI_SUCCESS ? LW_OK : LW_ERR_MPI;
}

template <typename Act>
lw_status with_memory(const Act& act) {
    try {
        return act();
    } catch (const std::bad_alloc&) {
        return LW_ERR_MEMORY;
    }
}

// Whether there is a place for the results. MPI_IN_PLACE stands for the values, never for these.
bool is_place(const void *receive, int count) {
    return receive != MPI_IN_PLACE && (receive || count <= 0);
}

lw_status check_communicator(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return LW_ERR_ARGUMENT;
    int between_groups = 0;
    if (PMPI_Comm_test_inter(comm, &between_groups) != MPI_SUCCESS) return LW_ERR_MPI;
    return between_groups ? LW_ERR_UNSUPPORTED : LW_OK;
}

/* Runs `reduce` with what the elements are. */
template <typename Reduce>
lw_status with_numbers(int count, MPI_Datatype type, MPI_Comm comm, Combining combining,
                       const Reduce& reduce) {
    if (count < 0) return LW_ERR_ARGUMENT;
    if (const auto status = check_communicator(comm); status != LW_OK) return status;
    const auto numbers = lanewise::sums::numbers_of(type);
    if (!numbers) return LW_ERR_UNSUPPORTED;
    return status_of(reduce(*numbers, combining));
}

void round_to(double& sum, const ExactSum& exact) {
    sum = exact.as_double();
}

void round_to(float& sum, const ExactSum& exact) {
    sum = exact.as_float();
}

/* The sums of real and of imaginary parts. */
template <typename Real>
lw_status sum_parts(const Real *values, size_t count, Real *sum) {
    if ((!values && count > 0) || !sum) return LW_ERR_ARGUMENT;
    const PlainArithmetic here;
    for (std::size_t part = 0; part < 2; ++part) {
        ExactSum exact;
        for (std::size_t i = 0; i < count; ++i) {
            exact.add(static_cast<double>(values[2 * i + part]));
        }
        round_to(sum[part], exact);
    }
    return LW_OK;
}

template <typename Real>
lw_status multiply(const Real *values, size_t count, Real *product) {
    if ((!values && count > 0) || !product) return LW_ERR_ARGUMENT;
    return with_memory([&] {
        *product = lanewise::sums::nearest_product(std::span(values, count));
        return LW_OK;
    });
}

/* Of complex numbers, whose parts lie one behind the other. */
template <typename Real>
lw_status multiply_pairs(const Real *values, size_t count, Real *product) {
    using Complex = std::complex<Real>;
    return multiply(reinterpret_cast<const Complex *>(values), count,
                    reinterpret_cast<Complex *>(product));
}

template <typename Real>
lw_status multiply_by(lw_product *product, const Real *values, size_t count) {
    if (!product || (!values && count > 0)) return LW_ERR_ARGUMENT;
    for (const Real value : std::span(values, count)) product->product.multiply(value);
    return LW_OK;
}

template <typename Real>
lw_status round_product(const lw_product *product, Real *nearest) {
    if (!product || !nearest) return LW_ERR_ARGUMENT;
    return product->product.round(*nearest) ? LW_OK : LW_ERR_UNSUPPORTED;
}

lw_status allreduce(const void *send, void *receive, int count, MPI_Datatype type,
                    Combining combining, MPI_Comm comm) {
    if ((!send && count > 0) || !is_place(receive, count)) return LW_ERR_ARGUMENT;
    return with_numbers(count, type, comm, combining, [&](Numbers numbers, Combining by) {
        return lanewise::sums::exact_allreduce(send, receive, count, numbers, by, comm);
    });
}

lw_status reduce(const void *send, void *receive, int count, MPI_Datatype type, Combining combining,
                 int root, MPI_Comm comm) {
    // First, as the roots of two groups are no ranks.
    if (const auto status = check_communicator(comm); status != LW_OK) return status;
    int ranks = 0;
    int rank = 0;
    if (PMPI_Comm_size(comm, &ranks) != MPI_SUCCESS) return LW_ERR_MPI;
    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS) return LW_ERR_MPI;
    if (root < 0 || root >= ranks) return LW_ERR_ARGUMENT;
    const bool is_root = rank == root;
    if ((!send && count > 0) || (is_root && !is_place(receive, count))) return LW_ERR_ARGUMENT;
    if (!is_root && send == MPI_IN_PLACE) return LW_ERR_ARGUMENT;
    return with_numbers(count, type, comm, combining, [&](Numbers numbers, Combining by) {
        return lanewise::sums::exact_reduce(send, receive, count, numbers, by, root, comm);
    });
}

}  // namespace

lw_status lw_sum_f64(const double *values, size_t count, double *sum) {
    if ((!values && count > 0) || !sum) return LW_ERR_ARGUMENT;
    ExactSum exact;
    exact.add(std::span(values, count));
    round_to(*sum, exact);
    return LW_OK;
}

lw_status lw_sum_f32(const float *values, size_t count, float *sum) {
    if ((!values && count > 0) || !sum) return LW_ERR_ARGUMENT;
    ExactSum exact;
    exact.add(std::span(values, count));
    round_to(*sum, exact);
    return LW_OK;
}

lw_status lw_sum_c128(const double *values, size_t count, double *sum) {
    return sum_parts(values, count, sum);
}

lw_status lw_sum_c64(const float *values, size_t count, float *sum) {
    return sum_parts(values, count, sum);
}

lw_status lw_accumulator_create(lw_accumulator **accumulator) {
    if (!accumulator) return LW_ERR_ARGUMENT;
    auto *made = new (std::nothrow) lw_accumulator;
    if (!made) return LW_ERR_MEMORY;
    *accumulator = made;
    return LW_OK;
}

void lw_accumulator_free(lw_accumulator *accumulator) {
    delete accumulator;
}

lw_status lw_accumulator_add_f64(lw_accumulator *accumulator, const double *values, size_t count) {
    if (!accumulator || (!values && count > 0)) return LW_ERR_ARGUMENT;
    accumulator->sum.add(std::span(values, count));
    return LW_OK;
}

lw_status lw_accumulator_add_f32(lw_accumulator *accumulator, const float *values, size_t count) {
    if (!accumulator || (!values && count > 0)) return LW_ERR_ARGUMENT;
    accumulator->sum.add(std::span(values, count));
    return LW_OK;
}

lw_status lw_accumulator_merge(lw_accumulator *accumulator, const lw_accumulator *other) {
    if (!accumulator || !other) return LW_ERR_ARGUMENT;
    accumulator->sum.add(other->sum);
    return LW_OK;
}

lw_status lw_accumulator_allreduce(lw_accumulator *accumulator, MPI_Comm comm) {
    if (!accumulator) return LW_ERR_ARGUMENT;
    if (const auto status = check_communicator(comm); status != LW_OK) return status;
    return status_of(lanewise::sums::add_over_ranks(accumulator->sum, comm));
}

lw_status lw_accumulator_allreduce_fortran(lw_accumulator *accumulator, MPI_Fint comm) {
    return lw_accumulator_allreduce(accumulator, PMPI_Comm_f2c(comm));
}

lw_status lw_accumulator_words(const lw_accumulator *accumulator, int64_t *words) {
    static_assert(ExactSum::word_count == LW_ACCUMULATOR_WORDS);
    if (!accumulator || !words) return LW_ERR_ARGUMENT;
    const auto made = accumulator->sum.words();
    std::copy(made.begin(), made.end(), words);
    return LW_OK;
}

lw_status lw_accumulator_set_words(lw_accumulator *accumulator, const int64_t *words) {
    if (!accumulator || !words) return LW_ERR_ARGUMENT;
    ExactSum::Words given{};
    std::copy_n(words, given.size(), given.begin());
    if (!ExactSum::are_words(given)) return LW_ERR_ARGUMENT;
    accumulator->sum = ExactSum::from(given);
    return LW_OK;
}

lw_status lw_accumulator_f64(const lw_accumulator *accumulator, double *sum) {
    if (!accumulator || !sum) return LW_ERR_ARGUMENT;
    *sum = accumulator->sum.as_double();
    return LW_OK;
}

lw_status lw_accumulator_f32(const lw_accumulator *accumulator, float *sum) {
    if (!accumulator || !sum) return LW_ERR_ARGUMENT;
    *sum = accumulator->sum.as_float();
    return LW_OK;
}

lw_status lw_exact_allreduce(const void *send, void *receive, int count, MPI_Datatype type,
                             MPI_Comm comm) {
    return allreduce(send, receive, count, type, Combining::sum, comm);
}

lw_status lw_exact_reduce(const void *send, void *receive, int count, MPI_Datatype type, int root,
                          MPI_Comm comm) {
    return reduce(send, receive, count, type, Combining::sum, root, comm);
}

lw_status lw_exact_allreduce_prod(const void *send, void *receive, int count, MPI_Datatype type,
                                  MPI_Comm comm) {
    return allreduce(send, receive, count, type, Combining::product, comm);
}

lw_status lw_exact_reduce_prod(const void *send, void *receive, int count, MPI_Datatype type,
                               int root, MPI_Comm comm) {
    return reduce(send, receive, count, type, Combining::product, root, comm);
}

lw_status lw_prod_f64(const double *values, size_t count, double *product) {
    return multiply(values, count, product);
}

lw_status lw_prod_f32(const float *values, size_t count, float *product) {
    return multiply(values, count, product);
}

lw_status lw_prod_c128(const double *values, size_t count, double *product) {
    return multiply_pairs(values, count, product);
}

lw_status lw_prod_c64(const float *values, size_t count, float *product) {
    return multiply_pairs(values, count, product);
}

lw_status lw_product_create(lw_product **product) {
    if (!product) return LW_ERR_ARGUMENT;
    return with_memory([&] {
        *product = std::make_unique<lw_product>().release();
        return LW_OK;
    });
}

void lw_product_free(lw_product *product) {
    delete product;
}

lw_status lw_product_multiply_f64(lw_product *product, const double *values, size_t count) {
    return multiply_by(product, values, count);
}

lw_status lw_product_multiply_f32(lw_product *product, const float *values, size_t count) {
    return multiply_by(product, values, count);
}

lw_status lw_product_merge(lw_product *product, const lw_product *other) {
    if (!product || !other) return LW_ERR_ARGUMENT;
    return with_memory([&] {
        product->product.multiply(other->product);
        return LW_OK;
    });
}

lw_status lw_product_allreduce(lw_product *product, MPI_Comm comm) {
    if (!product) return LW_ERR_ARGUMENT;
    if (const auto status = check_communicator(comm); status != LW_OK) return status;
    return with_memory(
        [&] { return status_of(lanewise::sums::multiply_over_ranks(product->product, comm)); });
}

lw_status lw_product_allreduce_fortran(lw_product *product, MPI_Fint comm) {
    return lw_product_allreduce(product, PMPI_Comm_f2c(comm));
}

lw_status lw_product_words(const lw_product *product, int64_t *words) {
    static_assert(lw_product::words + LongProduct::words_besides == LW_PRODUCT_WORDS);
    if (!product || !words) return LW_ERR_ARGUMENT;
    product->product.write(std::span(words, LW_PRODUCT_WORDS));
    return LW_OK;
}

lw_status lw_product_set_words(lw_product *product, const int64_t *words) {
    if (!product || !words) return LW_ERR_ARGUMENT;
    const std::span given(words, LW_PRODUCT_WORDS);
    if (!LongProduct::are_words(given)) return LW_ERR_ARGUMENT;
    return with_memory([&] {
        product->product = LongProduct::read(given);
        return LW_OK;
    });
}

lw_status lw_product_f64(const lw_product *product, double *nearest) {
    return round_product(product, nearest);
}

lw_status lw_product_f32(const lw_product *product, float *nearest) {
    return round_product(product, nearest);
}
