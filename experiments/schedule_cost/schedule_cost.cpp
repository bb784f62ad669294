// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-schedule-cost: the cost of executing a schedule, against the same algorithm written out
// in the MPI.
//
// Open MPI is forced to use one algorithm for a collective; Lanewise executes its schedule of the
// same algorithm on the same ranks. Batches of both alternate, so that drift of the machine affects
// both alike, and the ratio is taken round by round. Isolated: each execution after a barrier, the
// longest time over the ranks. Pipelined: executions back to back. Prints one JSON object.

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/statistics.hpp"
#include "collectives/execute/execute.hpp"
#include "experiments/ring.hpp"
#include "measure/bench.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::collectives;
using namespace lanewise::measure;

constexpr int rounds = 60;
constexpr std::array<std::uint64_t, 3> sizes_bytes = {8, 1024, 65536};

/* One algorithm: its number in Open MPI, and its name in Lanewise. */
struct Pair {
    Collective collective;
    const char *openmpi_number;
    const char *algorithm;
};
constexpr Pair pairs[] = {
    {Collective::scatter, "2", "binomial"},
    {Collective::gather, "2", "binomial"},
    {Collective::bcast, "6", "binomial"},
    {Collective::allreduce, "3", "recursive_doubling"},
};

void force_openmpi_algorithms() {
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
    for (const auto& pair : pairs) {
        const auto name = fmt::format("OMPI_MCA_coll_tuned_{}_algorithm", name_of(pair.collective));
        setenv(name.c_str(), pair.openmpi_number, 1);
    }
}

template <Collective collective>
const Algorithm *chosen = nullptr;

template <Collective collective>
int carry_out(const Call& call) {
    bool served = false;
    const int code = execute(call, {chosen<collective>, 0, 1}, served);
    return served ? code : MPI_ERR_OTHER;
}

/* A scatter or a gather. */
template <Collective collective>
int move_blocks(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const Call call{.collective = collective,
                    .send = send,
                    .send_count = send_count,
                    .send_type = send_type,
                    .receive = receive,
                    .receive_count = receive_count,
                    .receive_type = receive_type,
                    .root = root,
                    .comm = comm};
    return carry_out<collective>(call);
}

int bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    const Call call{.collective = Collective::bcast,
                    .receive = buffer,
                    .receive_count = count,
                    .receive_type = type,
                    .root = root,
                    .comm = comm};
    return carry_out<Collective::bcast>(call);
}

int allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm) {
    const Call call{.collective = Collective::allreduce,
                    .send = send,
                    .receive = receive,
                    .receive_count = count,
                    .receive_type = type,
                    .op = op,
                    .comm = comm};
    return carry_out<Collective::allreduce>(call);
}

/* An operation that calls `ours`, or the MPI's own where it is null. */
lw_operation *operation_of(Collective collective, bool ours) {
    switch (collective) {
        case Collective::scatter:
            return lw_operation_scatter(ours ? move_blocks<Collective::scatter> : nullptr);
        case Collective::gather:
            return lw_operation_gather(ours ? move_blocks<Collective::gather> : nullptr);
        case Collective::bcast: return lw_operation_bcast(ours ? bcast : nullptr);
        default: return lw_operation_allreduce(ours ? allreduce : nullptr);
    }
}

/* Some processors have clock steps of 10 ns, which is 4 % of the shortest of these times. */
double isolated_s(Bench& bench, Running& running) {
    return midmean(bench.time(running, experiments::ring_batch).values_s);
}

double pipelined_s(Bench& bench, Running& running) {
    constexpr std::size_t length = 2 * experiments::ring_batch;
    bench.harness().barrier();
    const double begin_s = bench.clock().now_s();
    for (std::size_t i = 0; i < length; ++i) check(running.execute());
    bench.harness().barrier();
    return (bench.clock().now_s() - begin_s) / length;
}

using Timer = double (*)(Bench& bench, Running& running);

Json compare(Bench& bench, Running& mine, Running& own, Timer time) {
    std::vector<double> ours_s;
    std::vector<double> mpi_s;
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        // The order alternates.
        if (round % 2 == 0) ours_s.push_back(time(bench, mine));
        mpi_s.push_back(time(bench, own));
        if (round % 2 == 1) ours_s.push_back(time(bench, mine));
        ratios.push_back(ours_s.back() / mpi_s.back());
    }
    const auto ratio = median_interval(ratios, 0.95);
    return {{"ours_s", median(ours_s)},
            {"mpi_s", median(mpi_s)},
            {"ratio", ratio.center},
            {"ratio_low", ratio.low},
            {"ratio_high", ratio.high}};
}

Json compare_at(Bench& bench, Collective collective, std::uint64_t message_bytes) {
    const std::unique_ptr<lw_operation, decltype(&lw_operation_free)> mine(
        operation_of(collective, true), lw_operation_free);
    const std::unique_ptr<lw_operation, decltype(&lw_operation_free)> own(
        operation_of(collective, false), lw_operation_free);
    const Point point{own.get(), 0, message_bytes};
    if (!bench.prepare({&point, 1})) return {};
    auto my_run = Running::create(*mine, bench.harness().comm(), 0, message_bytes);
    auto own_run = Running::create(*own, bench.harness().comm(), 0, message_bytes);
    if (!my_run || !own_run) return {};
    return {{"message_bytes", message_bytes},
            {"isolated", compare(bench, *my_run, *own_run, isolated_s)},
            {"pipelined", compare(bench, *my_run, *own_run, pipelined_s)}};
}

Json measure_costs() {
    chosen<Collective::scatter> = find_algorithm(Collective::scatter, "binomial");
    chosen<Collective::gather> = find_algorithm(Collective::gather, "binomial");
    chosen<Collective::bcast> = find_algorithm(Collective::bcast, "binomial");
    chosen<Collective::allreduce> = find_algorithm(Collective::allreduce, "recursive_doubling");
    const lw_measure_options options = LW_MEASURE_OPTIONS;
    Bench bench(MPI_COMM_WORLD, options);
    Json result = {{"ranks", bench.harness().size()}, {"collectives", Json::object()}};
    for (const auto& pair : pairs) {
        if (!find_algorithm(pair.collective, pair.algorithm)) continue;
        auto points = Json::array();
        for (const auto bytes : sizes_bytes) {
            points.push_back(compare_at(bench, pair.collective, bytes));
        }
        result["collectives"][name_of(pair.collective)] = {{"algorithm", pair.algorithm},
                                                           {"points", points}};
    }
    result["rank"] = bench.harness().rank();
    return result;
}

}  // namespace

int main(int argc, char **argv) {
    force_openmpi_algorithms();
    MPI_Init(&argc, &argv);
    auto result = measure_costs();
    if (result["rank"] == 0) {
        result.erase("rank");
        fmt::print("{}\n", result.dump());
    }
    MPI_Finalize();
    return 0;
}
