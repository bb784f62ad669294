// SPDX-License-Identifier: BSD-3-Clause
//
// See statistics.hpp for the definitions and their sources.

#include "base/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace lanewise {

double Interval::relative_error() const {
    if (!(center > 0.0) || std::isnan(high - low)) return std::numeric_limits<double>::infinity();
    return std::max(high - center, center - low) / center;
}

MedianRanks median_ranks(std::size_t n, double confidence) {
    if (n == 0) return {};
    const boost::math::binomial_distribution<double> heads(static_cast<double>(n), 0.5);
    const double tail = (1.0 - confidence) / 2.0;
    // Walk out from the normal approximation; the exact tail decides.
    const double spread = std::sqrt(static_cast<double>(n));
    auto below = static_cast<long>(std::floor(static_cast<double>(n) / 2.0 - spread));
    below = std::clamp(below, 0L, static_cast<long>(n) - 1);
    const auto tail_at = [&](long l) { return boost::math::cdf(heads, static_cast<double>(l)); };
    while (below > 0 && tail_at(below) > tail) --below;
    while (below + 1 < static_cast<long>(n) / 2 && tail_at(below + 1) <= tail) ++below;
    const bool wide_enough = tail_at(below) <= tail;
    const auto low = wide_enough ? static_cast<std::size_t>(below) : 0;
    return {low, n - 1 - low, 2.0 * tail_at(static_cast<long>(low)) <= 1.0 - confidence};
}

std::vector<double> sorted(std::span<const double> values) {
    std::vector<double> copy(values.begin(), values.end());
    std::sort(copy.begin(), copy.end());
    return copy;
}

double quantile(std::span<const double> sorted_values, double probability) {
    if (sorted_values.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double position = probability * static_cast<double>(sorted_values.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(position));
    const auto above = std::min(below + 1, sorted_values.size() - 1);
    const double fraction = position - static_cast<double>(below);
    return sorted_values[below] + fraction * (sorted_values[above] - sorted_values[below]);
}

double median(std::span<const double> values) {
    return quantile(sorted(values), 0.5);
}

double mean(std::span<const double> values) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double midmean(std::span<const double> values) {
    const auto ordered = sorted(values);
    const auto quarter = ordered.size() / 4;
    return mean(std::span(ordered).subspan(quarter, ordered.size() - 2 * quarter));
}

Interval median_interval(std::span<const double> values, double confidence) {
    const auto ordered = sorted(values);
    const double center = quantile(ordered, 0.5);
    if (ordered.empty()) return {center, center, center};
    const auto ranks = median_ranks(ordered.size(), confidence);
    return {center, ordered[ranks.low], ordered[ranks.high]};
}

double student_quantile(double degrees_of_freedom, double tail) {
    using namespace boost::math;
    // Else Boost computes with long double, already while a library is loaded. Under valgrind,
    // where that has the range of a double, this would end every program.
    using Doubles = policies::policy<policies::promote_double<false>>;
    const students_t_distribution<double, Doubles> student(degrees_of_freedom);
    return boost::math::quantile(complement(student, tail));
}

Interval student_interval(std::span<const double> values, double confidence) {
    const double center = mean(values);
    const auto n = static_cast<double>(values.size());
    const double infinity = std::numeric_limits<double>::infinity();
    if (values.size() < 2) return {center, -infinity, infinity};
    double squares = 0.0;
    for (const double value : values) squares += (value - center) * (value - center);
    const double t = student_quantile(n - 1.0, (1.0 - confidence) / 2.0);
    const double arm = t * std::sqrt(squares / (n - 1.0) / n);
    return {center, center - arm, center + arm};
}

std::size_t outlier_count(std::span<const double> values) {
    const auto ordered = sorted(values);
    const double first = quantile(ordered, 0.25);
    const double third = quantile(ordered, 0.75);
    const double reach = 3.0 * (third - first);
    return static_cast<std::size_t>(std::count_if(
        ordered.begin(), ordered.end(),
        [&](double value) { return value < first - reach || value > third + reach; }));
}

}  // namespace lanewise
