// SPDX-License-Identifier: BSD-3-Clause
//
// What a decision between two batches costs: the interval of the median and
// Student's, over as many values as a point may have. It stands beside the
// sort, without which no median is had.

#include "base/statistics.hpp"

#include <benchmark/benchmark.h>

#include <random>

namespace lanewise {
namespace {

std::vector<double> times(std::size_t count) {
    std::mt19937_64 random(1);
    std::lognormal_distribution<double> lognormal(0.0, 0.1);
    std::vector<double> values(count);
    for (auto& value : values) value = lognormal(random);
    return values;
}

void sort_alone(benchmark::State& state) {
    const auto values = times(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(sorted(values));
}
BENCHMARK(sort_alone)->RangeMultiplier(10)->Range(10, 10000);

void interval_of_the_median(benchmark::State& state) {
    const auto values = times(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(median_interval(values, 0.95));
}
BENCHMARK(interval_of_the_median)->RangeMultiplier(10)->Range(10, 10000);

void interval_of_the_mean(benchmark::State& state) {
    const auto values = times(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(student_interval(values, 0.95));
}
BENCHMARK(interval_of_the_mean)->RangeMultiplier(10)->Range(10, 10000);

}  // namespace
}  // namespace lanewise
