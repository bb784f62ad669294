// SPDX-License-Identifier: BSD-3-Clause
//
// What exact sums cost, beside a plain loop.

#include <benchmark/benchmark.h>

#include <numeric>
#include <random>
#include <vector>

#include "sums/exact_sum.hpp"
#include "sums/window.hpp"

namespace lanewise::sums {
namespace {

constexpr std::size_t count = std::size_t{1} << 16;

std::vector<double> numbers() {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (double& value : values) value = normal(random);
    return values;
}

void per_number(benchmark::State& state) {
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(count));
}

void plain_sum(benchmark::State& state) {
    const auto values = numbers();
    for (auto _ : state) {
        benchmark::DoNotOptimize(std::accumulate(values.begin(), values.end(), 0.0));
    }
    per_number(state);
}
BENCHMARK(plain_sum);

void exact_sum(benchmark::State& state) {
    const auto values = numbers();
    for (auto _ : state) {
        ExactSum sum;
        sum.add(std::span<const double>(values));
        benchmark::DoNotOptimize(sum.as_double());
    }
    per_number(state);
}
BENCHMARK(exact_sum);

void windows(benchmark::State& state) {
    const auto values = numbers();
    std::vector<Window> found(blocks_of(count));
    for (auto _ : state) {
        find_windows(std::span<const double>(values), std::span(found));
        benchmark::DoNotOptimize(found.data());
    }
    per_number(state);
}
BENCHMARK(windows);

void pack(benchmark::State& state) {
    const auto values = numbers();
    std::vector<Window> found(blocks_of(count));
    find_windows(std::span<const double>(values), std::span(found));
    const Packing packing(4);
    std::vector<std::int64_t> words(packing.words(found, count));
    for (auto _ : state) {
        packing.pack(std::span<const double>(values), found, words.data());
        benchmark::DoNotOptimize(words.data());
    }
    per_number(state);
}
BENCHMARK(pack);

void unpack(benchmark::State& state) {
    auto values = numbers();
    std::vector<Window> found(blocks_of(count));
    find_windows(std::span<const double>(values), std::span(found));
    const Packing packing(4);
    std::vector<std::int64_t> words(packing.words(found, count));
    packing.pack(std::span<const double>(values), found, words.data());
    for (auto _ : state) {
        packing.unpack(words.data(), found, std::span(values));
        benchmark::DoNotOptimize(values.data());
    }
    per_number(state);
}
BENCHMARK(unpack);

}  // namespace
}  // namespace lanewise::sums
