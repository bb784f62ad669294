// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-timing-cost: the cost of maximum timing per repetition (MPIBlib 2008, Table 1).
//
// Three ways that give the same values are interleaved, so that drift of the machine affects all
// alike: the reduction deferred to the end of the batch, as Lanewise does; the scheme of MPIBlib
// 1.2.0, which makes two reductions and a broadcast of whether to stop after every repetition, with
// the MPI's own collectives; and one maximum, sent to all, after every repetition, by the harness.
// Prints one JSON object. An argument is the number of rounds.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/json.hpp"
#include "base/statistics.hpp"
#include "measure/bench.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::measure;

constexpr std::uint64_t message_bytes = 8;
constexpr std::size_t batch_repetitions = 1000;
constexpr int rounds = 100;

using After = void (*)(const Harness& harness, double value_s);

void reduce_as_mpiblib(const Harness& harness, double value_s) {
    double longest_s = 0.0;
    int status = 0;
    int worst_status = 0;
    int stop = 0;
    MPI_Reduce(&value_s, &longest_s, 1, MPI_DOUBLE, MPI_MAX, 0, harness.comm());
    MPI_Reduce(&status, &worst_status, 1, MPI_INT, MPI_MAX, 0, harness.comm());
    MPI_Bcast(&stop, 1, MPI_INT, 0, harness.comm());
}

void take_maximum(const Harness& harness, double value_s) {
    harness.maximum({&value_s, 1});
}

// Wall time of a repetition that is followed by `after`.
double cost_s(Bench& bench, Running& running, After after) {
    const double begin_s = bench.clock().now_s();
    for (std::size_t i = 0; i < batch_repetitions; ++i) {
        bench.harness().barrier();
        const double start_s = bench.clock().now_s();
        check(running.execute());
        after(bench.harness(), bench.clock().now_s() - start_s);
    }
    return (bench.clock().now_s() - begin_s) / batch_repetitions;
}

double deferred_cost_s(Bench& bench, Running& running) {
    return bench.time(running, batch_repetitions).elapsed_s / batch_repetitions;
}

Json sum_up(const std::vector<double>& deferred_s, const std::vector<double>& other_s) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < other_s.size(); ++i) ratios.push_back(deferred_s[i] / other_s[i]);
    const auto ratio = median_interval(ratios, 0.95);
    return {{"cost_s", median(other_s)},
            {"ratio", ratio.center},
            {"ratio_low", ratio.low},
            {"ratio_high", ratio.high}};
}

int measure_costs(int count) {
    const lw_measure_options options = LW_MEASURE_OPTIONS;
    Bench bench(MPI_COMM_WORLD, options);
    const std::unique_ptr<lw_operation, decltype(&lw_operation_free)> bcast(
        lw_operation_bcast(nullptr), lw_operation_free);
    const Point point{bcast.get(), 0, message_bytes};
    if (!bench.prepare({&point, 1})) return 1;
    auto running = Running::create(*bcast, bench.harness().comm(), 0, message_bytes);
    if (!running) return 1;

    std::vector<double> deferred_s;
    std::vector<double> mpiblib_s;
    std::vector<double> maximum_s;
    for (int round = 0; round < count; ++round) {
        deferred_s.push_back(deferred_cost_s(bench, *running));
        mpiblib_s.push_back(cost_s(bench, *running, reduce_as_mpiblib));
        maximum_s.push_back(cost_s(bench, *running, take_maximum));
    }
    if (bench.harness().rank() != 0) return 0;
    auto result = sum_up(deferred_s, mpiblib_s);
    result["operation"] = "bcast";
    result["message_bytes"] = message_bytes;
    result["ranks"] = bench.harness().size();
    result["deferred_s"] = median(deferred_s);
    result["per_repetition_s"] = result["cost_s"];
    result.erase("cost_s");
    result["one_maximum"] = sum_up(deferred_s, maximum_s);
    fmt::print("{}\n", result.dump());
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int count = argc > 1 ? std::atoi(argv[1]) : rounds;
    const int status = measure_costs(std::max(count, 1));
    MPI_Finalize();
    return status;
}
