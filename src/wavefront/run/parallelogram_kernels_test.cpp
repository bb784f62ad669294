// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels of one's own over parallelograms and over whole rows: two data matrices, every
// radius, either reading, real and complex numbers, against a loop written here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <random>

#include "testing/cases.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

const auto trials = lanewise::testing::cases<std::uint64_t>(32, 8);

using testing::Folder;
using ::testing::HasSubstr;
using testing::Matrices;
using testing::Medium;

template <typename Value>
Value weight(std::int64_t iteration, std::int64_t row) {
    using Real = decltype(std::abs(Value{}));
    return Value(Real(1) + Real(0.125) * static_cast<Real>((3 * iteration + row) % 5));
}

// What the update looks at: as far as it may, in all directions.
struct Reach {
    std::int64_t radius = 1;
};

template <typename Value>
Value mixed(Value far_above, Value above, Value left, Value right, Value below, Value other,
            Value coefficient) {
    using Real = decltype(std::abs(Value{}));
    return Real(0.15) * ((((far_above + above) + left) + right) + below) + Real(0.1) * other -
           Real(0.01) * coefficient;
}

// Two matrices that look at each other; weights depend on the iteration and the row.
template <typename Value>
void update(void *const *updated, const void *const *data, const void *const *coefficients,
            std::int64_t row, std::int64_t first, std::int64_t end, std::int64_t iteration,
            std::int64_t /*down*/, std::int64_t right, void *context) {
    const auto t = static_cast<const Reach *>(context)->radius;
    const auto count = 2 * t + 1;
    const auto *c = static_cast<const Value *>(coefficients[0]);
    for (std::int64_t m = 0; m < 2; ++m) {
        const auto u = [&](std::int64_t matrix, std::int64_t down, std::int64_t j) {
            return static_cast<const Value *>(data[matrix * count + t + down])[j];
        };
        auto *out = static_cast<Value *>(updated[m]);
        for (auto n = first; n < end; ++n) {
            const auto j = right < 0 ? first + end - 1 - n : n;
            out[j] = mixed(u(m, -t, j + t), u(m, -1, j - t), u(m, 0, j - t), u(m, 0, j + t),
                           u(m, t, j - t), m == 0 ? u(1, t, j + t) : u(0, -t, j + t),
                           weight<Value>(iteration, row) * c[j]);
        }
    }
}

// A row of one matrix before that of the other, as the function above goes.
template <typename Value>
void sweep(Matrices<Value>& now, Reading reading, std::int64_t t, std::int64_t iteration,
           const Direction& direction) {
    const auto copy = now;
    const auto& before = reading == Reading::previous ? copy : now;
    const auto rows = static_cast<std::int64_t>(now.rows);
    const auto columns = static_cast<std::int64_t>(now.columns);
    const auto u = [&](std::size_t m, std::int64_t i, std::int64_t j) {
        return before.values[m][static_cast<std::size_t>(i * columns + j)];
    };
    for (std::int64_t y = t; y + t < rows; ++y) {
        const auto i = direction.up ? rows - 1 - y : y;
        for (std::size_t m = 0; m < 2; ++m) {
            for (std::int64_t x = t; x + t < columns; ++x) {
                const auto j = direction.left ? columns - 1 - x : x;
                const auto at = static_cast<std::size_t>(i * columns + j);
                now.values[m][at] =
                    mixed(u(m, i - t, j + t), u(m, i - 1, j - t), u(m, i, j - t), u(m, i, j + t),
                          u(m, i + t, j - t), m == 0 ? u(1, i + t, j + t) : u(0, i - t, j + t),
                          weight<Value>(iteration, i) * now.values[2][at]);
            }
        }
    }
}

template <typename Value>
double largest_change(const Matrices<Value>& before, const Matrices<Value>& after) {
    double change = 0.0;
    for (std::size_t m = 0; m < 2; ++m) {
        for (std::size_t i = 0; i < before.values[m].size(); ++i)
            change = std::max(
                change, static_cast<double>(std::abs(after.values[m][i] - before.values[m][i])));
    }
    return change;
}

struct Trial {
    MatrixShape shape;
    Reach reach;
    UserKernel kernel;
    RunOptions options;
    std::uint64_t spare_bytes = 0;
};

Trial draw(std::uint64_t seed, Element element) {
    std::mt19937_64 random(seed);
    const auto between = [&](std::uint64_t low, std::uint64_t high) {
        return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    Trial trial;
    trial.reach.radius = static_cast<std::int64_t>(1 + seed % 8);
    const auto radius = static_cast<std::uint64_t>(trial.reach.radius);
    trial.shape = {.rows = between(1, 90),
                   .columns = between(1, 400),
                   .data_count = 2,
                   .coefficient_count = 1,
                   .element = element,
                   .layout = between(0, 1) ? &layouts::row_major : *layout_named("block"),
                   .strip_rows = between(radius + 1, 24)};
    // Every fourth goes over whole rows.
    if (between(0, 3)) trial.shape.tile_columns = between(1, trial.shape.columns);
    trial.kernel.name = "mixed";
    trial.kernel.radius = static_cast<std::uint32_t>(radius);
    trial.kernel.reading = seed / 8 % 2 ? Reading::previous : Reading::updated;
    trial.kernel.writes = between(0, 2) ? WriteCheck::trusted : WriteCheck::watched;
    trial.options.iterations = between(1, 20);
    trial.options.threads = static_cast<std::uint32_t>(between(1, 3));
    trial.spare_bytes = between(0, 400000);
    // Half of them turn.
    if (seed / 2 % 2) {
        trial.options.directions.resize(between(1, 5));
        for (auto& one : trial.options.directions)
            one = {.up = between(0, 1) == 1, .left = between(0, 1) == 1};
    }
    return trial;
}

template <typename Value>
void expect_bits(std::uint64_t seed, Element element, double tolerance) {
    auto trial = draw(seed, element);
    SCOPED_TRACE(seed);
    trial.kernel.update_directed = &update<Value>;
    trial.kernel.context = &trial.reach;
    const Folder folder(Medium::memory);
    auto store = Store::create(folder / "store", trial.shape, {"u", "v", "c"}, {});
    ASSERT_TRUE(store) << store.failure().sentence;
    ASSERT_TRUE(fill_with_demo_values(*store, seed));
    const auto kernel = make_user_kernel(trial.kernel, trial.shape);
    ASSERT_TRUE(kernel) << kernel.failure().sentence;
    trial.options.tolerance = tolerance;
    if (tolerance > 0.0) trial.options.iterations = 60;
    trial.options.memory_bytes =
        plan_run(*store, *kernel, trial.options)->memory_bytes_min + trial.spare_bytes;
    auto expected = testing::load<Value>(*store);
    std::uint64_t iterations = 0;
    std::uint64_t still_iterations = 0;
    const auto& directions = trial.options.directions;
    for (; iterations < trial.options.iterations && still_iterations < directions.size();
         ++iterations) {
        const auto before = expected;
        const auto direction = directions[iterations % directions.size()];
        sweep(expected, trial.kernel.reading, trial.reach.radius,
              static_cast<std::int64_t>(iterations), direction);
        const bool still = tolerance > 0.0 && largest_change(before, expected) <= tolerance;
        still_iterations = still ? still_iterations + 1 : 0;
    }

    const auto report = run(*store, *kernel, trial.options);

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_EQ(report->iterations, iterations);
    const auto found = testing::load<Value>(*store);
    for (std::size_t m = 0; m < 2; ++m)
        EXPECT_EQ(std::memcmp(found.values[m].data(), expected.values[m].data(),
                              expected.values[m].size() * sizeof(Value)),
                  0)
            << "matrix " << m;
}

TEST(ParallelogramKernelsTest, GiveTheBitsOfTheLoop) {
    for (std::uint64_t seed = 0; seed < 3 * trials && !HasFailure(); ++seed)
        expect_bits<double>(seed, Element::f64, no_tolerance);
}

TEST(ParallelogramKernelsTest, GiveTheBitsOfTheLoopInComplexNumbers) {
    for (std::uint64_t seed = 100; seed < 100 + trials && !HasFailure(); ++seed) {
        expect_bits<std::complex<double>>(seed, Element::c128, no_tolerance);
        expect_bits<std::complex<float>>(seed, Element::c64, no_tolerance);
    }
}

TEST(ParallelogramKernelsTest, StopWhereTheLoopComesToRest) {
    for (std::uint64_t seed = 200; seed < 200 + trials && !HasFailure(); ++seed)
        expect_bits<double>(seed, Element::f64, 1e-3);
}

TEST(ParallelogramKernelsTest, AreRefusedWhereAStripIsNoHigherThanTheirRadius) {
    Trial trial = draw(2, Element::f64);
    trial.shape.strip_rows = 3;
    trial.kernel.update_directed = &update<double>;
    const auto kernel = make_user_kernel(trial.kernel, trial.shape);

    const auto suits = check_kernel(*kernel, trial.shape);

    ASSERT_FALSE(suits);
    EXPECT_THAT(suits.failure().sentence, HasSubstr("--strip-rows 4 or more"));
}

}  // namespace
}  // namespace lanewise::wavefront
