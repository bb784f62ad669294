// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-ruled-call: what a call costs that follows a rule of liblanewise_tuned.so, against the
// MPI's own same algorithm.
//
// The library is loaded into this program with rules for calls of 8 bytes, so that MPI_ functions
// go through it and PMPI_ functions do not; Open MPI is forced to use for each collective the
// algorithm that its rule names. Batches of both alternate, each execution after a barrier, and the
// longest time over the ranks counts; the ratio is taken round by round. Broadcasts of nothing,
// which Open MPI answers at once, show what the library adds to a call whose size has no rule while
// other sizes have one. Prints one JSON object.

#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/statistics.hpp"
#include "experiments/ring.hpp"
#include "measure/bench.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::measure;

constexpr int rounds = 60;
constexpr std::uint64_t ruled_bytes = 8;
constexpr int unruled_rounds = 200;
constexpr int unruled_calls = 20'000;
constexpr std::size_t many = 64;

/* A collective, its algorithm by its number in Open MPI, and how it is called. */
struct Ruled {
    const char *name;
    const char *openmpi_number;
    lw_operation *(*through)();
    lw_operation *(*past)();
};
constexpr std::array<Ruled, 4> all_ruled = {{
    {"bcast", "6", [] { return lw_operation_bcast(MPI_Bcast); },
     [] { return lw_operation_bcast(PMPI_Bcast); }},
    {"scatter", "2", [] { return lw_operation_scatter(MPI_Scatter); },
     [] { return lw_operation_scatter(PMPI_Scatter); }},
    {"gather", "2", [] { return lw_operation_gather(MPI_Gather); },
     [] { return lw_operation_gather(PMPI_Gather); }},
    {"allreduce", "3", [] { return lw_operation_allreduce(MPI_Allreduce); },
     [] { return lw_operation_allreduce(PMPI_Allreduce); }},
}};

void force_openmpi_algorithms() {
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 1);
    for (const auto& ruled : all_ruled) {
        const auto name = fmt::format("OMPI_MCA_coll_tuned_{}_algorithm", ruled.name);
        setenv(name.c_str(), ruled.openmpi_number, 1);
    }
}

/* Some processors have clock steps of 10 ns, which is 4 % of the shortest of these times. */
double batch_s(Bench& bench, Running& running) {
    return midmean(bench.time(running, experiments::ring_batch).values_s);
}

using OwnedOperation = std::unique_ptr<lw_operation, decltype(&lw_operation_free)>;

Json compare(Bench& bench, const Ruled& ruled) {
    const OwnedOperation through(ruled.through(), lw_operation_free);
    const OwnedOperation past(ruled.past(), lw_operation_free);
    const Point point{past.get(), 0, ruled_bytes};
    if (!bench.prepare({&point, 1})) return {};
    auto with = Running::create(*through, MPI_COMM_WORLD, 0, ruled_bytes);
    auto without = Running::create(*past, MPI_COMM_WORLD, 0, ruled_bytes);
    if (!with || !without) return {};
    std::vector<double> with_s;
    std::vector<double> without_s;
    std::vector<double> ratios;
    for (int round = -1; round < rounds; ++round) {
        // The order alternates, because the first of two may find colder caches.
        const bool with_first = round % 2 == 0;
        const double first_s = batch_s(bench, with_first ? *with : *without);
        const double second_s = batch_s(bench, with_first ? *without : *with);
        if (round < 0) continue;
        with_s.push_back(with_first ? first_s : second_s);
        without_s.push_back(with_first ? second_s : first_s);
        ratios.push_back(with_s.back() / without_s.back());
    }
    const auto ratio = median_interval(ratios, 0.95);
    return {{"ruled_s", median(with_s)},
            {"mpi_s", median(without_s)},
            {"ratio", ratio.center},
            {"ratio_low", ratio.low},
            {"ratio_high", ratio.high}};
}

using Bcast = int (*)(void *, int, MPI_Datatype, int, MPI_Comm);

/* One broadcast of nothing, on these communicators in turn. */
double nothing_s(Bcast bcast, const std::vector<MPI_Comm>& comms) {
    char unused = 0;
    std::size_t next = 0;
    const double begin_s = monotonic_s();
    for (int i = 0; i < unruled_calls; ++i) {
        bcast(&unused, 0, MPI_CHAR, 0, comms[next]);
        next = next + 1 < comms.size() ? next + 1 : 0;
    }
    return (monotonic_s() - begin_s) / unruled_calls;
}

Json added_ns(const std::vector<MPI_Comm>& comms) {
    std::vector<double> added;
    for (int round = -1; round < unruled_rounds; ++round) {
        const bool with_first = round % 2 == 0;
        const double first_s = nothing_s(with_first ? MPI_Bcast : PMPI_Bcast, comms);
        const double second_s = nothing_s(with_first ? PMPI_Bcast : MPI_Bcast, comms);
        const double more_s = with_first ? first_s - second_s : second_s - first_s;
        if (round >= 0) added.push_back(1e9 * more_s);
    }
    const auto interval = median_interval(added, 0.95);
    return {{"median", interval.center}, {"low", interval.low}, {"high", interval.high}};
}

bool is_loaded() {
    Dl_info library{};
    Dl_info mpi{};
    dladdr(dlsym(RTLD_DEFAULT, "MPI_Bcast"), &library);
    dladdr(dlsym(RTLD_DEFAULT, "PMPI_Bcast"), &mpi);
    return library.dli_fbase != mpi.dli_fbase;
}

Json measure_all(int& rank) {
    const lw_measure_options options = LW_MEASURE_OPTIONS;
    Bench bench(MPI_COMM_WORLD, options);
    Json collectives = Json::object();
    for (const auto& ruled : all_ruled) collectives[ruled.name] = compare(bench, ruled);
    const std::vector<MPI_Comm> one{MPI_COMM_WORLD};
    std::vector<MPI_Comm> several(many);
    for (auto& comm : several) PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    // The ranks agree on the rules of a communicator in its first call.
    nothing_s(MPI_Bcast, several);
    rank = bench.harness().rank();
    Json result = {{"collectives", collectives},
                   {"unruled_ns", added_ns(one)},
                   {"communicators", many},
                   {"unruled_many_ns", added_ns(several)},
                   {"ranks", bench.harness().size()}};
    for (auto& comm : several) PMPI_Comm_free(&comm);
    return result;
}

}  // namespace

int main(int argc, char **argv) {
    if (!is_loaded()) {
        fmt::print(stderr,
                   "lanewise-ruled-call: liblanewise_tuned.so is not loaded; run me by lanewise "
                   "reproduce ruled-call\n");
        return 2;
    }
    force_openmpi_algorithms();
    MPI_Init(&argc, &argv);
    int rank = 0;
    const auto result = measure_all(rank);
    if (rank == 0) fmt::print("{}\n", result.dump());
    MPI_Finalize();
    return 0;
}
