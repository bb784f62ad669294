// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-late-ranks: a program whose late ranks are known, and one that collectives are recorded
// in.
//
//   delays SEED  before collectives in four functions a rank that others wait for is busy for a
//                random time; prints how long each rank was, by function
//   cost         sweeps over a grid with two reductions each, as in a conjugate gradient solver, in
//                blocks that call alternately through the preloaded library and past it; prints the
//                ratio of their times
//
// Prints one JSON object.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"

namespace {

using namespace lanewise;

int rank = 0;
int ranks = 1;

constexpr int rounds = 100;
constexpr double shortest_s = 200e-6;
constexpr double longest_s = 5e-3;

/* Busy for so long if this is the rank; returns how long it took, interruptions included. */
double delay(int who, double seconds) {
    if (rank != who) return 0.0;
    const double begin_s = monotonic_s();
    while (monotonic_s() < begin_s + seconds) {
    }
    return monotonic_s() - begin_s;
}

/* Calls that are the last of a function would return to its caller. */
void stay() {
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] double late_to_barrier(int who, double seconds) {
    const double injected_s = delay(who, seconds);
    MPI_Barrier(MPI_COMM_WORLD);
    stay();
    return injected_s;
}

[[gnu::noinline]] double late_to_allreduce(int who, double seconds) {
    double mine = 1.0;
    double sum = 0.0;
    const double injected_s = delay(who, seconds);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    stay();
    return injected_s;
}

[[gnu::noinline]] double late_to_bcast(int who, double seconds) {
    std::vector<char> data(1024);
    const double injected_s = delay(who, seconds);
    MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_CHAR, who, MPI_COMM_WORLD);
    stay();
    return injected_s;
}

/* The root is the rank before the late one. */
[[gnu::noinline]] double late_to_gather(int who, double seconds) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    const double injected_s = delay(who, seconds);
    MPI_Gather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, (who + ranks - 1) % ranks,
               MPI_COMM_WORLD);
    stay();
    return injected_s;
}

Json delays(unsigned seed) {
    using Function = double (*)(int, double);
    const std::map<std::string, Function> functions{{"late_to_barrier", late_to_barrier},
                                                    {"late_to_allreduce", late_to_allreduce},
                                                    {"late_to_bcast", late_to_bcast},
                                                    {"late_to_gather", late_to_gather}};
    std::mt19937 random(seed);
    std::map<std::string, double> injected_s;
    for (int round = 0; round < rounds; ++round) {
        for (const auto& [name, function] : functions) {
            const int who = static_cast<int>(random() % static_cast<unsigned>(ranks));
            const double share = static_cast<double>(random() % 1000) / 1000.0;
            MPI_Barrier(MPI_COMM_WORLD);
            injected_s[name] += function(who, shortest_s + share * (longest_s - shortest_s));
        }
    }
    Json result = Json::array();
    for (const auto& [name, mine_s] : injected_s) {
        std::vector<double> all_s(static_cast<std::size_t>(ranks));
        PMPI_Gather(&mine_s, 1, MPI_DOUBLE, all_s.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (std::size_t r = 0; r < all_s.size(); ++r) {
            result.push_back({{"function", name}, {"rank", r}, {"injected_s", all_s[r]}});
        }
    }
    return {{"injected", result}, {"ranks", ranks}};
}

constexpr std::size_t width = 512;
constexpr std::size_t height = 128;
constexpr int sweeps = 8;
constexpr int pairs = 600;

using Allreduce = decltype(&MPI_Allreduce);

/* A sweep takes some hundred microseconds; in a solver it follows such sums in every iteration. */
double block_s(Allreduce allreduce, std::vector<double>& grid) {
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = monotonic_s();
    for (int sweep = 0; sweep < sweeps; ++sweep) {
        double residual = 0.0;
        double norm = 0.0;
        for (std::size_t row = 1; row + 1 < height; ++row) {
            for (std::size_t column = 1; column + 1 < width; ++column) {
                const auto at = row * width + column;
                const double mean =
                    0.25 * (grid[at - 1] + grid[at + 1] + grid[at - width] + grid[at + width]);
                residual += std::abs(mean - grid[at]);
                norm += mean * mean;
                grid[at] = mean;
            }
        }
        double sum = 0.0;
        allreduce(&residual, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        allreduce(&norm, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double mine_s = monotonic_s() - begin_s;
    double longest = 0.0;
    PMPI_Allreduce(&mine_s, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

/* The time that one block in ten keeps: what interrupts a block can only lengthen it. */
double quick(std::vector<double> blocks_s) {
    std::ranges::sort(blocks_s);
    return blocks_s[blocks_s.size() / 10];
}

Json cost() {
    std::vector<double> grid(width * height, 1.0);
    std::vector<double> with_s;
    std::vector<double> without_s;
    block_s(PMPI_Allreduce, grid);
    for (int pair = 0; pair < pairs; ++pair) {
        // The order alternates, because the first of two may find colder caches.
        if (pair % 2 == 0) with_s.push_back(block_s(MPI_Allreduce, grid));
        without_s.push_back(block_s(PMPI_Allreduce, grid));
        if (pair % 2 != 0) with_s.push_back(block_s(MPI_Allreduce, grid));
    }
    const double with_each_s = quick(with_s) / sweeps;
    const double without_each_s = quick(without_s) / sweeps;
    return {{"ratio", with_each_s / without_each_s},
            {"sweep_s", without_each_s},
            {"call_ns", 1e9 * (with_each_s - without_each_s) / 2}};
}

}  // namespace

int main(int argc, char **argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (!(mode == "cost" && argc == 2) && !(mode == "delays" && argc == 3)) {
        fmt::print(stderr, "lanewise-late-ranks: say cost, or delays SEED\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto seed = static_cast<unsigned>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0);
    const Json result = mode == "cost" ? cost() : delays(seed);
    if (rank == 0) fmt::print("{}\n", result.dump());
    MPI_Finalize();
    return 0;
}
