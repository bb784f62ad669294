// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-coverage: how often the interval at which the repetition stops contains the true value,
// by simulation of the very rule that measures. There are two streams: log-normal times (sigma
// 0.1), and the same with one repetition in fifty, on average, lengthened twenty times. The median
// rule is judged by the true median, the paper's Student rule by the true mean.
//
// Prints one JSON object. Needs no MPI.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "base/json.hpp"
#include "measure/repetition.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::measure;

constexpr int trials = 10000;
constexpr double sigma = 0.1;
constexpr double spike_probability = 0.02;
constexpr double spike_factor = 20.0;

struct Stream {
    std::function<double(std::mt19937_64&)> draw;
    double true_median;
    double true_mean;
};

struct Coverage {
    double covered = 0.0;
    double repetitions_mean = 0.0;
};

Coverage cover(const Stream& stream, lw_rule rule) {
    std::mt19937_64 random(20081123);
    const StoppingRule stopping{.rule = rule};
    const double truth = rule == LW_RULE_MEDIAN ? stream.true_median : stream.true_mean;
    Coverage coverage;
    for (int trial = 0; trial < trials; ++trial) {
        Repetition repetition(stopping);
        while (const auto count = repetition.next_batch(0.0)) {
            std::vector<double> values(count);
            for (auto& value : values) value = stream.draw(random);
            repetition.add(values, 0, 0.0);
        }
        const auto interval = repetition.interval();
        if (interval.low <= truth && truth <= interval.high) coverage.covered += 1.0 / trials;
        coverage.repetitions_mean += static_cast<double>(repetition.values().size()) / trials;
    }
    return coverage;
}

Stream lognormal() {
    return {[](std::mt19937_64& random) {
                return std::lognormal_distribution<double>(0.0, sigma)(random);
            },
            1.0, std::exp(sigma * sigma / 2.0)};
}

// P(value <= x) of the disturbed stream.
double spiky_probability(double x) {
    const auto below = [](double y) {
        return 0.5 * std::erfc(-std::log(y) / sigma / std::sqrt(2.0));
    };
    return (1.0 - spike_probability) * below(x) + spike_probability * below(x / spike_factor);
}

Stream spiky() {
    double low = 0.5;
    double high = 2.0;
    for (int halving = 0; halving < 60; ++halving) {
        const double middle = 0.5 * (low + high);
        (spiky_probability(middle) < 0.5 ? low : high) = middle;
    }
    const double lift = 1.0 + spike_probability * (spike_factor - 1.0);
    return {[](std::mt19937_64& random) {
                const double value = std::lognormal_distribution<double>(0.0, sigma)(random);
                const bool spike = std::bernoulli_distribution(spike_probability)(random);
                return spike ? spike_factor * value : value;
            },
            low, lift * std::exp(sigma * sigma / 2.0)};
}

}  // namespace

int main() {
    const auto median_plain = cover(lognormal(), LW_RULE_MEDIAN);
    const auto median_spiky = cover(spiky(), LW_RULE_MEDIAN);
    const auto student_plain = cover(lognormal(), LW_RULE_STUDENT);
    const auto student_spiky = cover(spiky(), LW_RULE_STUDENT);
    const Json result = {
        {"coverage_lognormal", median_plain.covered},
        {"coverage_spikes", median_spiky.covered},
        {"coverage_lognormal_student", student_plain.covered},
        {"coverage_spikes_student", student_spiky.covered},
        {"repetitions_mean_lognormal", median_plain.repetitions_mean},
        {"repetitions_mean_spikes", median_spiky.repetitions_mean},
        {"repetitions_mean_lognormal_student", student_plain.repetitions_mean},
        {"repetitions_mean_spikes_student", student_spiky.repetitions_mean},
        {"trials", trials},
    };
    fmt::print("{}\n", result.dump());
    return 0;
}
