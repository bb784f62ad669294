// SPDX-License-Identifier: BSD-3-Clause
//
// Every run equals the sequential loop bit for bit: random shapes, waves,
// threads, strips, layouts, budgets, disks and queues, on real files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>

#include "testing/cases.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

const auto trials = lanewise::testing::cases<std::uint64_t>(300, 90);

using testing::Folder;
using testing::Matrices;
using testing::Medium;

struct Trial {
    MatrixShape shape;
    std::string kernel;
    RunOptions options;
    std::vector<std::string> disks;
    std::optional<std::uint64_t> spare_bytes; /* above the least budget; none: plenty */
    std::uint64_t seed = 0;
    Medium medium = Medium::memory;
};

std::string describe(const Trial& trial) {
    const auto& s = trial.shape;
    return trial.kernel + " " + element_name(s.element) + " " + s.layout->name + " " +
           std::to_string(s.rows) + "x" + std::to_string(s.columns) + " strips of " +
           std::to_string(s.strip_rows) + " tiles of " + std::to_string(s.tile_columns) + ", " +
           std::to_string(trial.options.iterations) + " iterations, K " +
           std::to_string(trial.options.waves) + ", " + std::to_string(trial.options.threads) +
           " threads, " + directions_text(trial.options.directions) + ", seed " +
           std::to_string(trial.seed);
}

// Half of the trials go down and right; the others in orders that have names or have none.
Directions draw_directions(std::uint64_t seed) {
    std::mt19937_64 random(seed + 1000);
    const char *const orders[] = {"symmetric", "fast-sweeping", "down-left", "backward",
                                  "up-right"};
    const auto drawn = random() % 20;
    if (drawn < 10) return {Direction{}};
    if (drawn < 15) return *parse_directions(orders[drawn - 10]);
    Directions directions(1 + random() % 6);
    for (auto& one : directions) one = {.up = random() % 2 == 1, .left = random() % 2 == 1};
    return directions;
}

Trial draw(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    const auto kernels = testing::kernels_of_rows();
    Trial trial;
    trial.seed = seed;
    trial.options.directions = draw_directions(seed);
    // Every eighth trial is on a disk, where direct I/O and syncing are real.
    if (seed % 8 == 0) trial.medium = Medium::disk;
    trial.kernel = kernels[between(0, kernels.size() - 1)].name;
    const std::uint64_t radius = kernel_info(trial.kernel)->radius;
    const auto *const layout = store_layouts()[between(0, store_layouts().size() - 1)];
    const bool skewed = layout == &layouts::skewed;
    trial.shape = {.rows = between(1, 120),
                   .columns = between(1, 90),
                   .coefficient_count = kernel_info(trial.kernel)->coefficient_count,
                   .element = between(0, 1) ? Element::f64 : Element::f32,
                   .layout = layout,
                   .strip_rows = skewed ? 8 * between(1, 4) : between(radius, 30)};
    // Some trials have groups of sixteen waves; a small cache makes column blocks narrow.
    const bool many = between(0, 3) == 0;
    trial.options.iterations = many ? between(30, 80) : between(1, 12);
    trial.options.waves = between(0, many ? 70 : 8);
    trial.options.cache_bytes = between(0, 1) ? 16384 : 0;
    trial.options.threads = static_cast<std::uint32_t>(between(1, 4));
    trial.options.queue = between(0, 3) ? QueueKind::automatic : QueueKind::threads;
    if (between(0, 3) == 0) trial.disks = {"second"};
    // A tight budget makes many parallelograms of rows in tiles; in strips of any height they go
    // row by row.
    if (between(0, 3) == 0) {
        const bool by_rows = !skewed && between(0, 1) == 0;
        trial.shape.strip_rows = by_rows ? between(radius + 1, 30) : 8 * between(1, 3);
        trial.shape.tile_columns = between(1, trial.shape.columns);
        trial.spare_bytes = between(0, 200000);
        return trial;
    }
    // The least budget holds one wave only; more than one strip of all matrices is 30 KiB or more.
    if (between(0, 2) == 0) trial.spare_bytes = between(0, 600000);
    return trial;
}

Result<Store> make_store(const Folder& folder, const Trial& trial) {
    std::vector<std::string> names{"u"};
    for (std::uint32_t m = 0; m < trial.shape.coefficient_count; ++m)
        names.push_back(std::string("c").append(std::to_string(m)));
    std::vector<std::string> disks;
    for (const auto& disk : trial.disks) disks.push_back(folder / disk);
    auto store = Store::create(folder / "store", trial.shape, names, disks);
    if (!store) return store;
    const auto filled = fill_with_demo_values(*store, trial.seed);
    if (!filled) return filled.failure();
    return store;
}

// With a tight budget the plan says how many waves there are.
RunOptions options_of(const Trial& trial, const Store& store, const Kernel& kernel) {
    auto options = trial.options;
    if (!trial.spare_bytes) return options;
    options.waves = 0;
    options.memory_bytes = plan_run(store, kernel, options)->memory_bytes_min + *trial.spare_bytes;
    return options;
}

template <typename Real>
void expect_bits(const Trial& trial) {
    SCOPED_TRACE(describe(trial));
    const Folder folder(trial.medium);
    auto store = make_store(folder, trial);
    ASSERT_TRUE(store) << store.failure().sentence;
    auto expected = testing::load<Real>(*store);
    for (std::uint64_t i = 0; i < trial.options.iterations; ++i)
        testing::sweep(trial.kernel, expected,
                       trial.options.directions[i % trial.options.directions.size()]);
    const auto kernel = make_kernel_for(trial.kernel, {}, trial.shape);
    ASSERT_TRUE(kernel) << kernel.failure().sentence;

    const auto report = run(*store, *kernel, options_of(trial, *store, *kernel));

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_EQ(report->iterations, trial.options.iterations);
    const auto found = testing::load<Real>(*store);
    ASSERT_EQ(found.values[0].size(), expected.values[0].size());
    EXPECT_EQ(std::memcmp(found.values[0].data(), expected.values[0].data(),
                          expected.values[0].size() * sizeof(Real)),
              0);
}

// Kernels of another instruction set than the processor's best run where it is named.
void expect_instructions(const char *named) {
#if defined(__x86_64__)
    if (!named || !__builtin_cpu_supports("avx2")) return;
    EXPECT_STREQ(skewed_instructions(), named);
#endif
}

TEST(BitsTest, EveryRunEqualsTheSequentialLoop) {
    expect_instructions(std::getenv("LANEWISE_WAVEFRONT_SIMD"));
    for (std::uint64_t seed = 0; seed < trials && !HasFailure(); ++seed) {
        const auto trial = draw(seed);
        if (trial.shape.element == Element::f32)
            expect_bits<float>(trial);
        else
            expect_bits<double>(trial);
    }
}

// Halves are not skewed, and of the kernels one is for whole numbers.
Trial of_element(Trial trial, Element element) {
    trial.shape.element = element;
    if (trial.shape.layout == &layouts::skewed) trial.shape.layout = &layouts::row_major;
    if (numbers_of(element) == Numbers::real) return trial;
    trial.kernel = "smith-waterman";
    trial.shape.coefficient_count = kernel_info(trial.kernel)->coefficient_count;
    return trial;
}

TEST(BitsTest, HalvesAndWholeNumbersEqualTheSequentialLoop) {
    for (std::uint64_t seed = 0; seed < trials && !HasFailure(); seed += 3) {
        expect_bits<half>(of_element(draw(seed), Element::f16));
        expect_bits<std::int32_t>(of_element(draw(seed + 1), Element::i32));
        expect_bits<std::int64_t>(of_element(draw(seed + 2), Element::i64));
    }
}

TEST(BitsTest, ConvergenceStopsWhereTheSequentialLoopDoes) {
    for (std::uint64_t seed = 0; seed < trials / 15 && !HasFailure(); ++seed) {
        Trial trial = draw(seed);
        trial.kernel = "livermore23";
        trial.shape.coefficient_count = 5;
        trial.shape.element = Element::f64;
        trial.options.iterations = 400;
        trial.options.waves = 1 + seed;
        trial.options.tolerance = 1e-3;
        SCOPED_TRACE(describe(trial));
        const Folder folder(Medium::memory);
        auto store = make_store(folder, trial);
        ASSERT_TRUE(store) << store.failure().sentence;
        auto expected = testing::load<double>(*store);
        std::uint64_t iterations = 0;
        const auto& directions = trial.options.directions;
        for (std::uint64_t still = 0; still < directions.size() && iterations < 400; ++iterations) {
            const auto before = expected.values[0];
            testing::livermore23(expected, directions[iterations % directions.size()]);
            double change = 0.0;
            for (std::size_t i = 0; i < before.size(); ++i)
                change = std::max(change, std::abs(expected.values[0][i] - before[i]));
            still = change <= 1e-3 ? still + 1 : 0;
        }
        const auto kernel = make_kernel_for("livermore23", {}, trial.shape);

        const auto report = run(*store, *kernel, trial.options);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_TRUE(report->converged);
        EXPECT_EQ(report->iterations, iterations);
        EXPECT_EQ(testing::load<double>(*store).values[0], expected.values[0]);
    }
}

}  // namespace
}  // namespace lanewise::wavefront
