// SPDX-License-Identifier: BSD-3-Clause
//
// Statistics of a sample: median with a nonparametric interval, mean with
// Student's, quantiles and outliers.
//
// The interval of the median is made of two order statistics: x(l) and
// x(n+1-l) enclose the median with probability 1 - 2 P(Bin(n, 1/2) < l),
// whatever the distribution (Hoefler and Belli, SC'15, section 3.1.3). With
// too few values for the wanted confidence it is the whole range.
// Student's interval is two-sided: t(1 - (1 - confidence)/2, n - 1) s / sqrt(n).

#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lanewise {

struct Interval {
    double center = 0.0;
    double low = 0.0;
    double high = 0.0;

    /* The larger of the two arms over the centre; infinite where the centre is not positive or an
       end is NaN. */
    double relative_error() const;
};

/* Which order statistics bound the median: 0-based ranks `low` and `high` of n sorted values. */
struct MedianRanks {
    std::size_t low = 0;
    std::size_t high = 0;
    bool wide_enough = false; /* the confidence is really reached */
};

MedianRanks median_ranks(std::size_t n, double confidence);

std::vector<double> sorted(std::span<const double> values);

/* Of sorted values, linear between neighbours (type 7 of Hyndman and Fan). NaN for none. */
double quantile(std::span<const double> sorted_values, double probability);
double median(std::span<const double> values);
double mean(std::span<const double> values);

/* The mean of the middle half (Tukey's midmean): outliers do not move it either, and where a clock
   goes by steps it sees between them, which the median, being one of the values, cannot. */
double midmean(std::span<const double> values);

/* What a variable with Student's distribution exceeds with probability `tail`. */
double student_quantile(double degrees_of_freedom, double tail);

Interval median_interval(std::span<const double> values, double confidence);
Interval student_interval(std::span<const double> values, double confidence);

/* How many values lie more than three interquartile ranges outside the quartiles (Tukey). */
std::size_t outlier_count(std::span<const double> values);

}  // namespace lanewise
