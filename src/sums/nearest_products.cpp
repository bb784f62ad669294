// SPDX-License-Identifier: BSD-3-Clause

#include "sums/nearest_products.hpp"

#include <complex>
#include <cstdint>

#include "sums/long_complex_product.hpp"
#include "sums/long_product.hpp"
#include "sums/number_bits.hpp"

namespace lanewise::sums {
namespace {

// What the first 128 bits leave undecided has the next ones.
constexpr std::size_t words_first = 2;
constexpr std::size_t words_next = 4;

// The product of normal numbers as LongProduct keeps it, in 128 bits.
class ShortProduct {
  public:
    template <typename Real>
    void multiply(NumberBits<Real> factor) {
        using Number = NumberBits<Real>;
        const std::uint64_t bits = std::uint64_t{factor.fraction | Number::hidden_bit}
                                   << (word_bits - Number::precision);
        const TwoWords lower = TwoWords{static_cast<std::uint64_t>(kept_)} * bits;
        kept_ = (kept_ >> word_bits) * bits + (lower >> word_bits);
        auto cut_off = static_cast<std::uint64_t>(lower);
        exponent_ += factor.field - Number::bias;
        negative_ ^= factor.negative;
        if ((kept_ & first_bit) != 0) {
            ++exponent_;
        } else {
            kept_ = (kept_ << 1) | (cut_off >> (word_bits - 1));
            cut_off <<= 1;
        }
        cut_off_ |= cut_off;
    }

    /* As LongProduct::round. Of what is no normal number it leaves the decision to that. */
    template <typename Real>
    bool round(std::size_t steps, Real& nearest) const {
        using Number = NumberBits<Real>;
        constexpr int behind = 2 * word_bits - Number::precision;
        constexpr TwoWords half = TwoWords{1} << (behind - 1);
        const std::int64_t last = exponent_ - (Number::precision - 1);
        if (last < Number::least_exponent) return false;
        const TwoWords rest = kept_ & (2 * half - 1);
        if (rest < half && cut_off_ != 0 && half - rest < TwoWords{4} * steps) return false;
        const auto kept = static_cast<std::uint64_t>(kept_ >> behind);
        const bool is_tie = rest == half && cut_off_ == 0;
        const bool up = is_tie ? (kept & 1U) != 0 : rest >= half;
        nearest = Number::number(kept + (up ? 1 : 0), last, negative_);
        return true;
    }

  private:
    static constexpr TwoWords first_bit = TwoWords{1} << (2 * word_bits - 1);

    TwoWords kept_ = first_bit;
    std::int64_t exponent_ = 0;
    std::uint64_t cut_off_ = 0; /* bits of all steps; what matters is whether any was set */
    bool negative_ = false;
};

template <typename Number>
struct Lengthy {
    using Product = LongProduct;
};
template <typename Real>
struct Lengthy<std::complex<Real>> {
    using Product = LongComplexProduct;
};

template <typename Number, typename At>
Number decided_at_length(std::size_t count, const At& at) {
    for (std::size_t words = words_next;; words *= 2) {
        typename Lengthy<Number>::Product product(words);
        for (std::size_t k = 0; k < count; ++k) product.multiply(at(k));
        Number nearest{};
        if (product.round(nearest)) return nearest;
    }
}

/* Of the factors at(0), at(1), ... */
template <typename Real, typename At>
void find_product(std::size_t count, const At& at, Real& nearest) {
    ShortProduct product;
    for (std::size_t k = 0; k < count; ++k) {
        const NumberBits<Real> factor(at(k));
        if (!factor.is_normal()) {
            nearest = decided_at_length<Real>(count, at);
            return;
        }
        product.multiply(factor);
    }
    if (!product.round(count, nearest)) nearest = decided_at_length<Real>(count, at);
}

template <typename Real, typename At>
void find_product(std::size_t count, const At& at, std::complex<Real>& nearest) {
    thread_local LongComplexProduct product(words_first);
    product.restart();
    for (std::size_t k = 0; k < count; ++k) product.multiply(at(k));
    if (!product.round(nearest)) nearest = decided_at_length<std::complex<Real>>(count, at);
}

}  // namespace

template <typename Number>
Number nearest_product(std::span<const Number> factors) {
    Number nearest{};
    find_product(
        factors.size(), [&](std::size_t k) { return factors[k]; }, nearest);
    return nearest;
}

template <typename Number>
void multiply_to_nearest(std::span<const Number *const> vectors, std::size_t count,
                         Number *products) {
    for (std::size_t i = 0; i < count; ++i) {
        Number nearest{};
        find_product(
            vectors.size(), [&](std::size_t k) { return vectors[k][i]; }, nearest);
        products[i] = nearest;
    }
}

using ComplexDouble = std::complex<double>;
using ComplexFloat = std::complex<float>;

template double nearest_product(std::span<const double>);
template float nearest_product(std::span<const float>);
template ComplexDouble nearest_product(std::span<const ComplexDouble>);
template ComplexFloat nearest_product(std::span<const ComplexFloat>);
template void multiply_to_nearest(std::span<const double *const>, std::size_t, double *);
template void multiply_to_nearest(std::span<const float *const>, std::size_t, float *);
template void multiply_to_nearest(std::span<const ComplexDouble *const>, std::size_t,
                                  ComplexDouble *);
template void multiply_to_nearest(std::span<const ComplexFloat *const>, std::size_t,
                                  ComplexFloat *);

}  // namespace lanewise::sums
