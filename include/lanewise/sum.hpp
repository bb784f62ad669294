// SPDX-License-Identifier: BSD-3-Clause
//
// Exact sums and products for C++: what <lanewise/sum.h> says, with exceptions in place of status
// codes.
//
//     const double total = lanewise::sum(values);       // of a vector, a span, an array
//
//     lanewise::accumulator energy;
//     for (double e : mine) energy += e;
//     energy.allreduce(MPI_COMM_WORLD);
//     const double total = energy.value();
//
//     const double weight = lanewise::prod(values);     // lanewise::product grows

#ifndef LANEWISE_SUM_HPP
#define LANEWISE_SUM_HPP

#include <lanewise/sum.h>

#include <complex>
#include <cstddef>
#include <new>
#include <ranges>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace lanewise {

/* What went wrong; a lack of memory is std::bad_alloc. */
struct sum_error : std::runtime_error {
    explicit sum_error(lw_status code) : std::runtime_error(lw_status_text(code)), status(code) {}
    lw_status status;
};

namespace sum_detail {

inline void check(lw_status status) {
    if (status == LW_ERR_MEMORY) throw std::bad_alloc();
    if (status != LW_OK) throw sum_error(status);
}

}  // namespace sum_detail

/* The exact sum of real or complex numbers that lie one behind the other, rounded once. */
template <std::ranges::contiguous_range Range>
auto sum(const Range& values) {
    using Number = std::remove_cv_t<std::ranges::range_value_t<Range>>;
    const auto *data = std::ranges::data(values);
    const std::size_t count = std::ranges::size(values);
    Number total{};
    if constexpr (std::is_same_v<Number, double>) {
        sum_detail::check(lw_sum_f64(data, count, &total));
    } else if constexpr (std::is_same_v<Number, float>) {
        sum_detail::check(lw_sum_f32(data, count, &total));
    } else if constexpr (std::is_same_v<Number, std::complex<double>>) {
        sum_detail::check(lw_sum_c128(reinterpret_cast<const double *>(data), count,
                                      reinterpret_cast<double *>(&total)));
    } else {
        static_assert(std::is_same_v<Number, std::complex<float>>,
                      "sums are of float, double and their complex types");
        sum_detail::check(lw_sum_c64(reinterpret_cast<const float *>(data), count,
                                     reinterpret_cast<float *>(&total)));
    }
    return total;
}

/* The exact product of real or complex numbers that lie one behind the other, rounded once. */
template <std::ranges::contiguous_range Range>
auto prod(const Range& values) {
    using Number = std::remove_cv_t<std::ranges::range_value_t<Range>>;
    const auto *data = std::ranges::data(values);
    const std::size_t count = std::ranges::size(values);
    Number product{};
    if constexpr (std::is_same_v<Number, double>) {
        sum_detail::check(lw_prod_f64(data, count, &product));
    } else if constexpr (std::is_same_v<Number, float>) {
        sum_detail::check(lw_prod_f32(data, count, &product));
    } else if constexpr (std::is_same_v<Number, std::complex<double>>) {
        sum_detail::check(lw_prod_c128(reinterpret_cast<const double *>(data), count,
                                       reinterpret_cast<double *>(&product)));
    } else {
        static_assert(std::is_same_v<Number, std::complex<float>>,
                      "products are of float, double and their complex types");
        sum_detail::check(lw_prod_c64(reinterpret_cast<const float *>(data), count,
                                      reinterpret_cast<float *>(&product)));
    }
    return product;
}

/* A sum that grows. */
class accumulator {
  public:
    accumulator() { sum_detail::check(lw_accumulator_create(&sum_)); }
    ~accumulator() { lw_accumulator_free(sum_); }
    accumulator(const accumulator& other) : accumulator() { *this += other; }
    accumulator(accumulator&& other) noexcept : sum_(std::exchange(other.sum_, nullptr)) {}
    accumulator& operator=(accumulator other) noexcept {
        std::swap(sum_, other.sum_);
        return *this;
    }

    accumulator& operator+=(double value) { return add(&value, 1); }
    accumulator& operator+=(const accumulator& other) {
        sum_detail::check(lw_accumulator_merge(sum_, other.sum_));
        return *this;
    }
    accumulator& add(const double *values, std::size_t count) {
        sum_detail::check(lw_accumulator_add_f64(sum_, values, count));
        return *this;
    }
    accumulator& add(const float *values, std::size_t count) {
        sum_detail::check(lw_accumulator_add_f32(sum_, values, count));
        return *this;
    }
    /* Replaces the sum, on every rank of `comm`, by that of all. */
    accumulator& allreduce(MPI_Comm comm) {
        sum_detail::check(lw_accumulator_allreduce(sum_, comm));
        return *this;
    }

    /* The sum so far, rounded. */
    double value() const {
        double rounded = 0;
        sum_detail::check(lw_accumulator_f64(sum_, &rounded));
        return rounded;
    }
    float value_f32() const {
        float rounded = 0;
        sum_detail::check(lw_accumulator_f32(sum_, &rounded));
        return rounded;
    }

  private:
    lw_accumulator *sum_ = nullptr;
};

/* A product that grows. `value` throws a sum_error with LW_ERR_UNSUPPORTED where lw_product_f64
 * fails with it. */
class product {
  public:
    product() { sum_detail::check(lw_product_create(&product_)); }
    ~product() { lw_product_free(product_); }
    product(const product& other) : product() { *this *= other; }
    product(product&& other) noexcept : product_(std::exchange(other.product_, nullptr)) {}
    product& operator=(product other) noexcept {
        std::swap(product_, other.product_);
        return *this;
    }

    product& operator*=(double factor) { return multiply(&factor, 1); }
    product& operator*=(const product& other) {
        sum_detail::check(lw_product_merge(product_, other.product_));
        return *this;
    }
    product& multiply(const double *factors, std::size_t count) {
        sum_detail::check(lw_product_multiply_f64(product_, factors, count));
        return *this;
    }
    product& multiply(const float *factors, std::size_t count) {
        sum_detail::check(lw_product_multiply_f32(product_, factors, count));
        return *this;
    }
    /* Replaces the product, on every rank of `comm`, by that of all. */
    product& allreduce(MPI_Comm comm) {
        sum_detail::check(lw_product_allreduce(product_, comm));
        return *this;
    }

    /* The product so far, rounded. */
    double value() const {
        double nearest = 0;
        sum_detail::check(lw_product_f64(product_, &nearest));
        return nearest;
    }
    float value_f32() const {
        float nearest = 0;
        sum_detail::check(lw_product_f32(product_, &nearest));
        return nearest;
    }

  private:
    lw_product *product_ = nullptr;
};

}  // namespace lanewise

#endif  // LANEWISE_SUM_HPP
