// SPDX-License-Identifier: BSD-3-Clause
//
// ExactSum: a sum of floating-point numbers that is rounded only once, at its end.
//
// It is a fixed-point number wide enough for every double (U. Kulisch, "Computer Arithmetic and
// Validity", 2008, chapter 8): 2098 bits and room for carries. A digit has 32 bits and lies in 64,
// so that adding a number changes three digits at most, and carries wait until half a thousand
// million numbers have been added (as in R. Neal, "Fast exact summation using small and large
// superaccumulators", 2015). Integers add up to the same in every order: the result depends neither
// on the order of the numbers nor on how they are dealt among threads and ranks.
//
// What IEEE 754 has besides numbers: a NaN, or infinities of both signs, give the quiet NaN without
// payload; infinities of one sign give that infinity, whatever the rest is; the sum of nothing but
// -0 is -0, and any other sum of zero, the empty one too, is +0.

#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lanewise::sums {

/* What a sum has seen that is no number, or has no value: as counts, so that they add up too. */
struct Specials {
    std::int64_t nans = 0;
    std::int64_t plus_infinities = 0;
    std::int64_t minus_infinities = 0;
    std::int64_t minus_zeros = 0;
    std::int64_t others = 0; /* everything that is not -0 */

    bool decide() const { return nans + plus_infinities + minus_infinities > 0; }
    /* The sum, where decide() says that no number matters. */
    double value() const;
    /* The sign of a sum of zero. */
    double zero() const { return others == 0 && minus_zeros > 0 ? -0.0 : 0.0; }
};

class ExactSum {
  public:
    static constexpr std::size_t digit_count = 70;
    static constexpr std::size_t word_count = digit_count + 5;
    using Words = std::array<std::int64_t, word_count>;

    void add(double value);
    void add(std::span<const double> values);
    void add(std::span<const float> values);
    void add(const ExactSum& other);

    /* The nearest number of the format, ties to even. */
    double as_double() const;
    float as_float() const;

    /* The sum as integers. Word by word, those of up to 2^30 sums may be added up, in any order;
       they are then the words of the sum of all. */
    Words words() const;
    /* Whether they are those of up to 2^30 sums. */
    static bool are_words(const Words& words);
    static ExactSum from(const Words& words);

  private:
    void make_room();

    std::array<std::int64_t, digit_count> digits_{};
    std::int64_t additions_ = 0; /* since the last carry */
    Specials specials_;
};

}  // namespace lanewise::sums
