// SPDX-License-Identifier: BSD-3-Clause
//
// LongComplexProduct: a product of complex floating-point numbers between bounds so near to each
// other that both parts are rounded to one number each.
//
// Each part of a product is a sum of products, which may cancel. What holds for the parts together
// is that the absolute value of a product is the product of the absolute values, so that relative
// errors add up. Both parts are kept as integers of B bits with one exponent, the longer of which
// has its first bit at the third place:
//
//     V = (a + bi) 2^exponent,    2^(B - 3) <= max(|a|, |b|) < 2^(B - 2).
//
// A factor is cut off to B bits in the same way where it has more, and so is the product of V with
// it. To cut off moves each part by less than one unit towards zero, V by less than sqrt(2) units
// and so by less than sqrt(2) 2^(3 - B) of |V|. With two cuts a step, the relative error of n steps
// is at most
//
//     (1 + 2 sqrt(2) 2^(3 - B))^n - 1  <  1.01 n 2 sqrt(2) 2^(3 - B)        while n <= 2^(B - 13),
//
// of |V| < sqrt(2) 2^(B - 2), hence less than 9 n units in each part. Where nothing was cut off, V
// is the product.
//
// A part is decided where both of its bounds are rounded to one number. One that is zero because
// each factor has a part that is zero is exact. More bits decide at last: where B is what all
// factors have together, nothing is cut off (A. Ziv, "Fast evaluation of elementary mathematical
// functions with correctly rounded last bit", ACM TOMS 17(3), 1991).
//
// Only the result may be too large or too small for the format, no part of the product. Everything
// is computed with integers, so no mode of rounding matters.

#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::sums {

class LongComplexProduct {
  public:
    /* A product of nothing, of 64 bits a word; two words at least. */
    explicit LongComplexProduct(std::size_t words);

    /* Makes it a product of nothing again. */
    void restart();

    template <typename Real>
    void multiply(std::complex<Real> factor);

    /* Whether it is certain which numbers of the format are nearest to the two parts, ties to even,
       and these numbers. An infinite part or a NaN in any factor makes both parts the quiet NaN
       without sign and payload. A part that is zero is +0; one that is too small keeps its sign. */
    template <typename Real>
    bool round(std::complex<Real>& nearest) const;

  private:
    /* A sign and a magnitude, the least word first. */
    struct Part {
        std::vector<std::uint64_t> words;
        bool negative = false;
    };
    /* Two integers with one exponent. */
    struct Pair {
        Part real;
        Part imaginary;
        std::int64_t exponent = 0;
    };

    template <typename Real>
    bool take_factor(std::complex<Real> factor);
    void multiply_by_factor();
    void cut_off_below(int bit);
    template <typename Real>
    bool round_part(const Part& part, Real& nearest) const;

    std::size_t word_count_;
    Pair product_;
    Pair factor_;
    Pair longer_; /* the product of the two before it is cut off */
    std::int64_t steps_ = 0;
    bool cuts_off_ = false;  /* whether a set bit was cut off */
    bool is_on_axis_ = true; /* whether one part of each factor is zero */
    bool has_no_number_ = false;
    bool has_zero_ = false;
};

}  // namespace lanewise::sums
