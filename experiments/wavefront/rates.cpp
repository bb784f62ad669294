// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-rates: the rates of the kernel of Livermore loop 23 in memory.
//
//     lanewise-wavefront-rates [SIDE [WAVES [THREADS]]]
//
// Compares three ways on the same matrices: the loop of Figure 1 of out-of-core wavefront (2008),
// as a compiler sees it; the skewed kernel wave after wave on one thread; and the same waves
// chained on all threads, as a run over the disk does. They are interleaved, so that drift of the
// machine affects all alike; each rate is the best of the rounds. Prints one JSON object;
// `bits_equal` says that all three left the same bits after 16 iterations.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "wavefront/kernel/kernel.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/run/waves.hpp"
#include "wavefront/store/memory.hpp"
#include "wavefront/store/rows_io.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::wavefront;

constexpr int rounds = 2;
// The naive loop is slow: this many iterations give its rate and the bits.
constexpr std::uint64_t compared_waves_max = 16;
constexpr std::uint32_t matrices = 6;

struct Problem {
    MatrixShape shape;
    Memory rows;   /* the six matrices in row-major order, one behind the other */
    Memory strips; /* the same in strips, as a run has them in memory */
    Slots slots;
    Memory initial; /* the data as they were, in rows */

    std::uint64_t matrix_bytes() const { return shape.rows * shape.columns * sizeof(double); }
    double *matrix(std::uint32_t m) {
        return reinterpret_cast<double *>(rows.begin() + m * matrix_bytes());
    }
    std::byte *strip(std::uint64_t s, std::uint32_t m) const {
        return strips.begin() + slots.offset(s, m);
    }
};

Result<Problem> make_problem(std::uint64_t side) {
    Problem problem;
    problem.shape = {.rows = side,
                     .columns = side,
                     .coefficient_count = matrices - 1,
                     .layout = &layouts::skewed};
    problem.shape.strip_rows = default_strip_rows(problem.shape);
    problem.slots = slots_of(problem.shape, problem.shape, Placement::staggered);
    auto rows = Memory::reserve(matrices * problem.matrix_bytes());
    auto strips = Memory::reserve(problem.shape.strip_count() * problem.slots.buffer_bytes);
    auto initial = Memory::reserve(problem.matrix_bytes());
    for (const auto *memory : {&rows, &strips, &initial}) {
        if (!*memory) return memory->failure();
    }
    problem.rows = std::move(*rows);
    problem.strips = std::move(*strips);
    problem.initial = std::move(*initial);
    for (std::uint32_t m = 0; m < matrices; ++m) {
        for (std::uint64_t i = 0; i < side * side; ++i)
            problem.matrix(m)[i] = (m == 0 ? 1.0 : 0.25) * demo_value(1, m, i, 1, 0);
    }
    std::memcpy(problem.initial.begin(), problem.rows.begin(), problem.matrix_bytes());
    return problem;
}

void pack(Problem& problem, std::uint32_t m, const std::byte *from) {
    const auto& shape = problem.shape;
    const auto bytes = shape.strip_rows * shape.columns * sizeof(double);
    for (std::uint64_t s = 0; s < shape.strip_count(); ++s)
        pack_strip(shape, from + s * bytes, rows_in_strip(shape, s), problem.strip(s, m));
}

// The data that the strips hold, compared with the rows.
bool same_bits(Problem& problem) {
    const auto& shape = problem.shape;
    const auto bytes = shape.strip_rows * shape.columns * sizeof(double);
    std::vector<std::byte> rows(bytes);
    for (std::uint64_t s = 0; s < shape.strip_count(); ++s) {
        const auto count = rows_in_strip(shape, s);
        unpack_strip(shape, problem.strip(s, 0), count, rows.data());
        if (std::memcmp(rows.data(), problem.rows.begin() + s * bytes,
                        count * shape.columns * sizeof(double)) != 0)
            return false;
    }
    return true;
}

void naive_sweep(Problem& problem) {
    const auto n = problem.shape.columns;
    double *d = problem.matrix(0);
    const double *zb = problem.matrix(1);
    const double *zv = problem.matrix(2);
    const double *zu = problem.matrix(3);
    const double *zr = problem.matrix(4);
    const double *zz = problem.matrix(5);
    for (std::uint64_t i = 1; i + 1 < problem.shape.rows; ++i) {
        for (std::uint64_t k = i * n + 1; k < i * n + n - 1; ++k) {
            const double q = d[k - n] * zb[k] + d[k - 1] * zv[k] + d[k + 1] * zu[k] +
                             d[k + n] * zr[k] + zz[k] - d[k];
            d[k] += 0.175 * q;
        }
    }
}

// The order of waves that a run over the disk would take.
Result<Plan> plan_in_memory(const MatrixShape& shape, std::uint64_t waves, std::uint32_t threads) {
    return make_plan({.shape = shape,
                      .disk_layout = shape.layout,
                      .iterations = waves,
                      .memory_bytes = ~std::uint64_t{0} >> 1,
                      .threads = threads,
                      .waves = waves,
                      .cache_bytes = cache_bytes(),
                      .rates = {}});
}

// Seconds that passes of `plan` take for `iterations` iterations over the strips.
double chained_s(Problem& problem, const Kernel& kernel, const Plan& plan,
                 std::uint64_t iterations) {
    const double began_s = monotonic_s();
    for (std::uint64_t done = 0; done < iterations; done += plan.waves) {
        Waves waves(
            {.kernel = &kernel,
             .shape = problem.shape,
             .rows_per_block = skew_lanes,
             .waves = plan.waves,
             .threads = plan.threads,
             .tiling = plan.tiling,
             .directions = std::vector<Direction>(plan.waves),
             .locate = [&](std::uint64_t s, std::uint32_t m) { return problem.strip(s, m); },
             .last_wave_done = [](std::uint64_t /*first*/, std::uint64_t /*end*/) {}});
        waves.load(waves.row_block_count());
        waves.start();
        waves.join();
    }
    return monotonic_s() - began_s;
}

std::uint64_t argument(int argc, char **argv, int index, std::uint64_t otherwise) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char **argv) {
    const auto side = argument(argc, argv, 1, 4096);
    const auto waves = argument(argc, argv, 2, 16);
    const auto threads = static_cast<std::uint32_t>(argument(argc, argv, 3, processor_count()));
    auto problem = make_problem(side);
    const auto kernel = make_kernel("livermore23", {}, Element::f64, &layouts::skewed);
    if (!problem || !kernel || side < 3 || waves < 1 || threads < 1) {
        std::fputs(
            "lanewise-wavefront-rates: SIDE from 3 up that fits into memory, WAVES and "
            "THREADS from 1 up\n",
            stderr);
        return 2;
    }
    const auto one = plan_in_memory(problem->shape, 1, 1);
    const auto chain = plan_in_memory(problem->shape, waves, threads);
    if (!one || !chain) return 2;
    for (std::uint32_t m = 1; m < matrices; ++m)
        pack(*problem, m, problem->rows.begin() + m * problem->matrix_bytes());

    const auto few = std::min<std::uint64_t>(waves, compared_waves_max);
    const auto short_chain = plan_in_memory(problem->shape, few, threads);
    if (!short_chain) return 2;
    double naive_s = 1e300;
    double one_s = 1e300;
    double chain_s = 1e300;
    bool equal = true;
    for (int round = 0; round < rounds; ++round) {
        std::memcpy(problem->rows.begin(), problem->initial.begin(), problem->matrix_bytes());
        const double began_s = monotonic_s();
        for (std::uint64_t i = 0; i < few; ++i) naive_sweep(*problem);
        naive_s = std::min(naive_s, monotonic_s() - began_s);
        pack(*problem, 0, problem->initial.begin());
        one_s = std::min(one_s, chained_s(*problem, *kernel, *one, few));
        equal = equal && same_bits(*problem);
        pack(*problem, 0, problem->initial.begin());
        chained_s(*problem, *kernel, *short_chain, few);
        equal = equal && same_bits(*problem);
        chain_s = std::min(chain_s, chained_s(*problem, *kernel, *chain, waves));
    }
    const double cells = static_cast<double>(side) * static_cast<double>(side);
    const double naive_rate = cells * static_cast<double>(few) / naive_s;
    const double chain_rate = cells * static_cast<double>(waves) / chain_s;
    const Json found = {{"naive_cells_per_s", naive_rate},
                        {"simd_cells_per_s", cells * static_cast<double>(few) / one_s},
                        {"simd_chained_cells_per_s", chain_rate},
                        {"simd_speedup", chain_rate / naive_rate},
                        {"bits_equal", equal ? 1 : 0},
                        {"side", side},
                        {"waves", waves},
                        {"threads", threads},
                        {"simd", skewed_instructions()}};
    std::puts(found.dump().c_str());
    return 0;
}
