// SPDX-License-Identifier: BSD-3-Clause
//
// LongProduct: a product of floating-point numbers between two bounds so near to each other that
// they are rounded to one number.
//
// The first bits of the product are kept as integers, those behind them are cut off, and the steps
// in which that happens are counted. With B bits, they stand for V * 2^(exponent - B + 1), where
// 2^(B - 1) <= V < 2^B. One step multiplies V by the bits of a factor, and cuts off less than one
// unit of the new V. So the ratio of the exact product to what is kept is at least 1, and grows in
// a step by a factor of at most 1 + 2^-(B - 1). After n steps it is at most
//
//     (1 + 2^-(B - 1))^n  <=  1 + 2 n 2^-(B - 1)        while n <= 2^(B - 1),
//
// and the exact product lies in [V, V + 4 n) units. If no set bit was cut off, it is V.
//
// If one was, the exact product is neither a number of the format nor half-way between two: it is
// an integer times a power of two, the odd part of a product is the product of the odd parts, and
// one of more than B bits is longer than the 54 that such numbers have. So V is below it, and more
// bits always decide to which side it is rounded (A. Ziv, "Fast evaluation of elementary
// mathematical functions with correctly rounded last bit", ACM TOMS 17(3), 1991). With as many bits
// as all factors have together nothing is cut off. For factors without a plan behind them, n of
// them are undecided with a probability of about n / 2^(B - 55).
//
// Only the result may be too large or too small for the format, no part of the product. Everything
// is computed with integers, so no mode of rounding matters.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::sums {

class LongProduct {
  public:
    /* A product of nothing, of 64 bits a word; two words at least. */
    explicit LongProduct(std::size_t words);

    template <typename Real>
    void multiply(Real factor);
    /* By one that has as many words. */
    void multiply(const LongProduct& other);

    /* Whether it is certain which number of the format is the nearest, ties to even, and this
       number. A NaN, or a zero and an infinity, give the quiet NaN without sign and payload. Zeros
       and infinities have the product of all signs. */
    template <typename Real>
    bool round(Real& nearest) const;

    /* The product as integers; those of several are made products again, and multiplied. */
    static constexpr std::size_t words_besides = 3;
    std::size_t word_count() const { return words_.size() + words_besides; }
    void write(std::span<std::int64_t> words) const;
    /* Whether `write` can have given them. */
    static bool are_words(std::span<const std::int64_t> words);
    static LongProduct read(std::span<const std::int64_t> words);

  private:
    void multiply_bits(std::uint64_t normalized);
    void normalize(std::uint64_t cut_off);
    bool is_below_half(int half_bit) const;
    bool has_bit_below(int bit) const;
    bool bit(int at) const;

    std::vector<std::uint64_t> words_; /* the least first; the first bit of the last is set */
    std::int64_t exponent_ = 0;
    std::int64_t steps_ = 0;
    bool cuts_off_ = false; /* whether a set bit was cut off */
    bool negative_ = false;
    bool has_nan_ = false;
    bool has_infinity_ = false;
    bool has_zero_ = false;
};

}  // namespace lanewise::sums
