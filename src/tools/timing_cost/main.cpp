// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-timing-cost: what maximum timing costs a repetition, with its
// reduction deferred to the end of the batch (as Lanewise does) and with one
// reduction and the news of it after every repetition (as MPIBlib does, and as
// stopping after any repetition requires). Same start, same operation, same
// reduction; the two take turns, so that drift of the machine hits both alike.
// Prints one JSON object. For the figure of paper 000, Table 1.

#include <fmt/format.h>
#include <mpi.h>

#include <memory>
#include <vector>

#include "base/json_lines.hpp"
#include "base/statistics.hpp"
#include "measure/bench.hpp"
#include "measure/timing/timing.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::measure;

constexpr std::uint64_t message_bytes = 8;
constexpr std::size_t batch_repetitions = 1000;
constexpr int turns = 100;

Batch run_reducing_each(Bench& bench, Running& running, std::size_t count) {
    Batch batch;
    const double begin_s = bench.clock().now_s();
    for (std::size_t i = 0; i < count; ++i) {
        bench.harness().barrier();
        const double start_s = bench.clock().now_s();
        batch.failed = running.execute() != 0 || batch.failed;
        double value_s = bench.clock().now_s() - start_s;
        bench.harness().maximum({&value_s, 1});
        batch.values_s.push_back(value_s);
    }
    batch.elapsed_s = bench.clock().now_s() - begin_s;
    return batch;
}

int measure_costs() {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    Bench bench(MPI_COMM_WORLD, options);
    const std::unique_ptr<lw_operation, decltype(&lw_operation_free)> bcast(
        lw_operation_bcast(nullptr), lw_operation_free);
    const Point point{bcast.get(), 0, message_bytes};
    if (!bench.prepare({&point, 1})) return 1;
    auto running = Running::create(*bcast, bench.harness().comm(), 0, message_bytes);
    if (!running) return 1;

    std::vector<double> deferred_s;
    std::vector<double> each_s;
    std::vector<double> ratios;
    const double repetitions = batch_repetitions;
    for (int turn = 0; turn < turns; ++turn) {
        deferred_s.push_back(run_max(bench, *running, batch_repetitions).elapsed_s / repetitions);
        each_s.push_back(run_reducing_each(bench, *running, batch_repetitions).elapsed_s /
                         repetitions);
        ratios.push_back(deferred_s.back() / each_s.back());
    }
    if (bench.harness().rank() != 0) return 0;
    const auto ratio = median_interval(ratios, 0.95);
    const Json result = {{"operation", "bcast"},
                         {"message_bytes", message_bytes},
                         {"ranks", bench.harness().size()},
                         {"deferred_s", median(deferred_s)},
                         {"per_repetition_s", median(each_s)},
                         {"ratio", ratio.center},
                         {"ratio_low", ratio.low},
                         {"ratio_high", ratio.high}};
    fmt::print("{}\n", result.dump());
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int status = measure_costs();
    MPI_Finalize();
    return status;
}
