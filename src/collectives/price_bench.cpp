// SPDX-License-Identifier: BSD-3-Clause
//
// What it costs to price a schedule: binomial and linear scatter, by ranks. It
// stands here rather than beside price because it takes the real algorithms.

#include "model/simulation/price.hpp"

#include <benchmark/benchmark.h>

#include "collectives/algorithm.hpp"
#include "model/simulation/uniform_network.hpp"

namespace lanewise::collectives {
namespace {

void price_scatter(benchmark::State& state, std::string_view name) {
    const auto *algorithm = find_algorithm(Collective::scatter, name);
    const int ranks = static_cast<int>(state.range(0));
    const auto network = model::uniform_network(
        ranks, {.send_s = 1e-6, .latency_s = 1e-5, .receive_s = 1e-6},
        {.send_s = 1e-9, .egress_s = 1e-10, .ingress_s = 1e-10, .receive_s = 1e-9});
    const auto schedule_of = [&](int rank) {
        CallShape shape;
        shape.ranks = ranks;
        shape.rank = rank;
        shape.count = 1024;
        return algorithm->build(shape);
    };
    for (auto _ : state) {
        benchmark::DoNotOptimize(model::price(network, ranks, schedule_of, 1).total_s);
    }
    state.SetItemsProcessed(state.iterations() * (ranks - 1));
}
BENCHMARK_CAPTURE(price_scatter, binomial, "binomial")
    ->RangeMultiplier(10)
    ->Range(10, 100000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(price_scatter, linear, "linear")
    ->RangeMultiplier(10)
    ->Range(10, 100000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lanewise::collectives
