// SPDX-License-Identifier: BSD-3-Clause
//
// Borders that are copies of cells inside: every run equals the plain loop in memory that sets
// them, bit for bit, whatever the kernel, the borders, the directions, the layout and the waves,
// in two dimensions and in three, and so does one that was stopped and resumed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "testing/cases.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using testing::Matrices;
using testing::Medium;

const auto trials = lanewise::testing::cases<std::uint64_t>(240, 80);

// The cell inside of which the one at `place`, out of `count`, is a copy.
std::uint64_t inside(std::uint64_t place, std::uint64_t count, std::uint64_t radius,
                     BorderKind kind) {
    if (kind == BorderKind::periodic) {
        const auto period = count - 2 * radius;
        return radius + (place + period - radius) % period;
    }
    return place < radius ? 2 * radius - 1 - place : 2 * (count - radius) - 1 - place;
}

// Of a row or column at `place`; fixed for those that are no border.
BorderKind kind_at(std::uint64_t place, std::uint64_t count, std::uint64_t radius,
                   BorderKind before, BorderKind behind) {
    if (place < radius) return before;
    return place >= count - radius ? behind : BorderKind::fixed;
}

struct Plain {
    Borders borders;
    std::uint64_t radius = 1;
    std::size_t data_count = 1;

    template <typename Real>
    void set_columns(Matrices<Real>& m, std::uint64_t row) const {
        for (std::size_t matrix = 0; matrix < data_count; ++matrix) {
            for (std::uint64_t j = 0; j < m.columns; ++j) {
                const auto kind = kind_at(j, m.columns, radius, borders.left, borders.right);
                if (kind != BorderKind::fixed)
                    m.at(matrix, row, j) = m.at(matrix, row, inside(j, m.columns, radius, kind));
            }
        }
    }
    template <typename Real>
    void set_rows(Matrices<Real>& m) const {
        for (std::size_t matrix = 0; matrix < data_count; ++matrix) {
            for (std::uint64_t i = 0; i < m.rows; ++i) {
                const auto kind = kind_at(i, m.rows, radius, borders.top, borders.bottom);
                if (kind == BorderKind::fixed) continue;
                for (std::uint64_t j = 0; j < m.columns; ++j)
                    m.at(matrix, i, j) = m.at(matrix, inside(i, m.rows, radius, kind), j);
            }
        }
    }

    // `iterate(i)` is iteration i of a kernel over `m`.
    template <typename Real, typename Iterate>
    void loop(Matrices<Real>& m, std::uint64_t iterations, const Iterate& iterate) const {
        for (auto i = radius; i < m.rows - radius; ++i) set_columns(m, i);
        set_rows(m);
        m.after_row = [this](Matrices<Real>& now, std::uint64_t row) { set_columns(now, row); };
        for (std::uint64_t n = 0; n < iterations; ++n) {
            iterate(n);
            set_rows(m);
        }
    }
};

struct Trial {
    MatrixShape shape{};
    std::string kernel;
    RunOptions options{};
    std::uint64_t passes_before_stop = 0; /* 0: the run is not stopped */
    std::uint64_t seed = 0;
};

std::string describe(const Trial& trial) {
    const auto& s = trial.shape;
    return trial.kernel + " " + element_name(s.element) + " " + s.layout->name + " " +
           std::to_string(s.rows) + "x" + std::to_string(s.columns) + " strips of " +
           std::to_string(s.strip_rows) + ", borders " + borders_text(trial.options.borders) +
           ", " + std::to_string(trial.options.iterations) + " iterations, K " +
           std::to_string(trial.options.waves) + ", " + directions_text(trial.options.directions) +
           ", stopped after " + std::to_string(trial.passes_before_stop) + ", seed " +
           std::to_string(trial.seed);
}

using Random = std::mt19937_64;

std::uint64_t between(Random& random, std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

// Never all fixed.
Borders draw_borders(Random& random) {
    const auto one = [&] { return static_cast<BorderKind>(between(random, 0, 1)); };
    Borders borders{one(), one(), one(), one()};
    if (between(random, 0, 2) == 0) borders.left = borders.right = BorderKind::periodic;
    if (between(random, 0, 2) == 0) borders.top = borders.bottom = BorderKind::periodic;
    return are_fixed(borders) ? draw_borders(random) : borders;
}

void draw_shape(Random& random, std::uint64_t radius, MatrixShape& shape) {
    const auto *const layout = store_layouts()[between(random, 0, store_layouts().size() - 1)];
    shape.rows = between(random, 3 * radius, 70);
    shape.columns = between(random, 3 * radius, 50);
    shape.layout = layout;
    const std::uint64_t least = 2 * radius > skew_lanes ? 2 : 1;
    shape.strip_rows = layout == &layouts::skewed ? skew_lanes * between(random, least, 3)
                                                  : between(random, 2 * radius, 2 * radius + 20);
}

RunOptions draw_options(Random& random) {
    RunOptions options;
    options.borders = draw_borders(random);
    options.iterations = between(random, 1, 9);
    options.waves = between(random, 0, 5);
    options.threads = static_cast<std::uint32_t>(between(random, 1, 4));
    options.directions.resize(between(random, 1, 4));
    const bool turns = between(random, 0, 1) == 1;
    for (auto& one : options.directions)
        one = {.up = turns && random() % 2 == 1, .left = turns && random() % 2 == 1};
    return options;
}

Trial draw(std::uint64_t seed) {
    Random random(seed);
    const auto kernels = testing::kernels_of_rows();
    const auto info = kernels[between(random, 0, kernels.size() - 1)];
    Trial trial{.kernel = info.name, .options = draw_options(random), .seed = seed};
    draw_shape(random, info.radius, trial.shape);
    trial.shape.coefficient_count = info.coefficient_count;
    trial.shape.element = random() % 2 ? Element::f64 : Element::f32;
    if (random() % 3 == 0) trial.passes_before_stop = between(random, 1, 3);
    return trial;
}

Result<Store> make_store(const Folder& folder, const MatrixShape& shape, std::uint64_t seed) {
    std::vector<std::string> names;
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m)
        names.push_back(std::string("m").append(std::to_string(m)));
    auto store = Store::create(folder / "store", shape, names, {});
    if (!store) return store;
    const auto filled = fill_with_demo_values(*store, seed);
    return filled ? std::move(store) : Result<Store>(filled.failure());
}

// A run that may be stopped, and is then gone on with as another program would.
Result<RunReport> run_and_resume(Store& store, const Kernel& kernel, const Trial& trial) {
    auto options = trial.options;
    std::atomic<bool> stop{false};
    if (trial.passes_before_stop == 0) return run(store, kernel, options);
    options.stop = &stop;
    const auto enough = std::min(options.iterations, trial.passes_before_stop);
    options.progress = [&](const RunProgress& progress) {
        if (progress.iterations_done >= enough) stop = true;
    };
    const auto stopped = run(store, kernel, options);
    if (stopped) return stopped;
    const auto read = read_manifest(store.folder());
    if (!read) return read.failure();
    return resume(store, kernel, RunOptions{});
}

template <typename Real>
void expect_same(const Store& store, const Matrices<Real>& expected) {
    const auto found = testing::load<Real>(store);
    for (std::uint32_t m = 0; m < store.shape().data_count; ++m) {
        ASSERT_EQ(found.values[m].size(), expected.values[m].size());
        EXPECT_EQ(std::memcmp(found.values[m].data(), expected.values[m].data(),
                              expected.values[m].size() * sizeof(Real)),
                  0)
            << "matrix " << m;
    }
}

template <typename Real>
void expect_bits(const Trial& trial) {
    SCOPED_TRACE(describe(trial));
    const Folder folder(Medium::memory);
    auto store = make_store(folder, trial.shape, trial.seed);
    ASSERT_TRUE(store) << store.failure().sentence;
    auto expected = testing::load<Real>(*store);
    const auto& directions = trial.options.directions;
    const Plain plain{trial.options.borders, kernel_info(trial.kernel)->radius};
    plain.loop(expected, trial.options.iterations, [&](std::uint64_t i) {
        testing::sweep(trial.kernel, expected, directions[i % directions.size()]);
    });
    const auto kernel = make_kernel_for(trial.kernel, {}, trial.shape);
    ASSERT_TRUE(kernel) << kernel.failure().sentence;

    const auto report = run_and_resume(*store, *kernel, trial);

    ASSERT_TRUE(report) << report.failure().sentence;
    EXPECT_EQ(store->manifest().iterations, trial.options.iterations);
    expect_same(*store, expected);
}

TEST(BordersTest, EveryRunEqualsThePlainLoopThatSetsBorders) {
    for (std::uint64_t seed = 0; seed < trials && !HasFailure(); ++seed) {
        const auto trial = draw(seed);
        if (trial.shape.element == Element::f32)
            expect_bits<float>(trial);
        else
            expect_bits<double>(trial);
    }
}

// Two data matrices, each cell the mean of those around it in both.
struct Mean {
    std::int64_t radius = 1;
    Reading reading = Reading::updated;

    template <typename Value>
    double operator()(const Value& value) const {
        double sum = 0.0;
        for (auto i = -radius; i <= radius; ++i) {
            for (auto j = -radius; j <= radius; ++j) sum += value(0, i, j) + 0.5 * value(1, j, i);
        }
        const auto width = static_cast<double>(2 * radius + 1);
        return sum / (1.5 * width * width);
    }
};

void mean_row(void *const *updated, const void *const *data, const void *const * /*none*/,
              std::int64_t /*row*/, std::int64_t first, std::int64_t end,
              std::int64_t /*iteration*/, std::int64_t /*down*/, std::int64_t right,
              void *context) {
    const auto& mean = *static_cast<const Mean *>(context);
    const auto kept = 2 * mean.radius + 1;
    for (std::int64_t n = 0; n < end - first; ++n) {
        const auto j = right > 0 ? first + n : end - 1 - n;
        const auto value = [&](std::int64_t matrix, std::int64_t down, std::int64_t ahead) {
            return static_cast<const double *>(data[matrix * kept + down + mean.radius])[j + ahead];
        };
        const double both = mean(value);
        static_cast<double *>(updated[0])[j] = both;
        static_cast<double *>(updated[1])[j] = 0.25 + 0.5 * both;
    }
}

void mean_in_memory(const Mean& mean, Matrices<double>& m, const Direction& direction) {
    const auto before = m.values;
    const auto radius = static_cast<std::uint64_t>(mean.radius);
    testing::each_cell(m, radius, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto& from = mean.reading == Reading::previous ? before : m.values;
        const double both = mean([&](std::int64_t matrix, std::int64_t down, std::int64_t ahead) {
            const auto at =
                (static_cast<std::int64_t>(i) + down) * static_cast<std::int64_t>(m.columns) +
                static_cast<std::int64_t>(j) + ahead;
            return from[static_cast<std::size_t>(matrix)][static_cast<std::size_t>(at)];
        });
        m.at(0, i, j) = both;
        m.at(1, i, j) = 0.25 + 0.5 * both;
    });
}

TEST(BordersTest, KernelsOfOnesOwnWithTwoDataMatricesFindTheSameBorders) {
    for (std::uint64_t seed = 0; seed < trials / 2 && !HasFailure(); ++seed) {
        Random random(seed + 5000);
        Mean mean{.radius = static_cast<std::int64_t>(between(random, 1, 5)),
                  .reading = random() % 2 ? Reading::updated : Reading::previous};
        const auto radius = static_cast<std::uint32_t>(mean.radius);
        Trial trial{.kernel = "mean of radius " + std::to_string(radius),
                    .options = draw_options(random),
                    .seed = seed};
        draw_shape(random, radius, trial.shape);
        trial.shape.data_count = 2;
        if (random() % 3 == 0) trial.passes_before_stop = 1;
        SCOPED_TRACE(describe(trial));
        const Folder folder(Medium::memory);
        auto store = make_store(folder, trial.shape, seed);
        ASSERT_TRUE(store) << store.failure().sentence;
        auto expected = testing::load<double>(*store);
        const auto& directions = trial.options.directions;
        Plain{trial.options.borders, radius, 2}.loop(
            expected, trial.options.iterations, [&](std::uint64_t i) {
                mean_in_memory(mean, expected, directions[i % directions.size()]);
            });
        UserKernel user;
        user.update_directed = mean_row;
        user.context = &mean;
        user.radius = radius;
        user.reading = mean.reading;
        user.writes = random() % 2 ? WriteCheck::watched : WriteCheck::trusted;
        const auto kernel = make_user_kernel(user, store->shape());
        ASSERT_TRUE(kernel) << kernel.failure().sentence;

        const auto report = run_and_resume(*store, *kernel, trial);

        ASSERT_TRUE(report) << report.failure().sentence;
        expect_same(*store, expected);
    }
}

// Three dimensions: cells by plane, line and column, and the loop that sets their borders.
struct Box {
    std::uint64_t planes;
    std::uint64_t lines;
    std::uint64_t columns;
    std::uint64_t radius;
    Borders borders;
    std::vector<std::vector<double>> values{};

    double& at(std::size_t m, std::uint64_t i, std::uint64_t j, std::uint64_t k) {
        return values[m][(i * lines + j) * columns + k];
    }
    void set_within(std::size_t m, std::uint64_t i) {
        for (auto j = radius; j < lines - radius; ++j) {
            for (std::uint64_t k = 0; k < columns; ++k) {
                const auto kind = kind_at(k, columns, radius, borders.left, borders.right);
                if (kind != BorderKind::fixed)
                    at(m, i, j, k) = at(m, i, j, inside(k, columns, radius, kind));
            }
        }
        for (std::uint64_t j = 0; j < lines; ++j) {
            const auto kind = kind_at(j, lines, radius, borders.front, borders.back);
            for (std::uint64_t k = 0; k < columns && kind != BorderKind::fixed; ++k)
                at(m, i, j, k) = at(m, i, inside(j, lines, radius, kind), k);
        }
    }
    void set_planes(std::size_t m) {
        for (std::uint64_t i = 0; i < planes; ++i) {
            const auto kind = kind_at(i, planes, radius, borders.top, borders.bottom);
            if (kind == BorderKind::fixed) continue;
            const auto size = static_cast<std::ptrdiff_t>(lines * columns);
            const auto begin = values[m].begin();
            const auto from =
                begin + size * static_cast<std::ptrdiff_t>(inside(i, planes, radius, kind));
            std::copy(from, from + size, begin + size * static_cast<std::ptrdiff_t>(i));
        }
    }
    void begin(std::size_t data_count) {
        for (std::size_t m = 0; m < data_count; ++m) {
            for (auto i = radius; i < planes - radius; ++i) set_within(m, i);
            set_planes(m);
        }
    }
    // `update(i, j, k)` sets a cell of all data matrices.
    template <typename Update>
    void iterate(std::size_t data_count, const Direction& direction, const Update& update) {
        for (auto x = radius; x < planes - radius; ++x) {
            const auto i = direction.up ? planes - 1 - x : x;
            for (auto y = radius; y < lines - radius; ++y) {
                for (auto z = radius; z < columns - radius; ++z)
                    update(i, direction.back ? lines - 1 - y : y,
                           direction.left ? columns - 1 - z : z);
            }
            for (std::size_t m = 0; m < data_count; ++m) set_within(m, i);
        }
        for (std::size_t m = 0; m < data_count; ++m) set_planes(m);
    }
};

Box draw_box(Random& random, std::uint64_t radius, RunOptions& options) {
    const auto one = [&] { return static_cast<BorderKind>(between(random, 0, 1)); };
    options.borders.front = one();
    options.borders.back = one();
    if (between(random, 0, 2) == 0)
        options.borders.front = options.borders.back = BorderKind::periodic;
    const auto side = [&] { return between(random, 3 * radius, 3 * radius + 6); };
    return {3 * radius + between(random, 0, 20), side(), side(), radius, options.borders};
}

MatrixShape shape_of(const Box& box, Random& random) {
    return {.rows = box.planes,
            .columns = box.lines * box.columns,
            .coefficient_count = 1,
            .strip_rows = between(random, 2 * box.radius, 2 * box.radius + 3),
            .line_columns = box.columns};
}

TEST(BordersTest, RunsOverThreeDimensionsEqualTheLoopThatSetsTheBordersOfAllSixSides) {
    for (std::uint64_t seed = 0; seed < trials && !HasFailure(); ++seed) {
        Random random(seed + 9000);
        Trial trial{.kernel = "sor-3d", .options = draw_options(random), .seed = seed};
        for (auto& direction : trial.options.directions) direction.back = random() % 2 == 1;
        auto box = draw_box(random, 1, trial.options);
        trial.shape = shape_of(box, random);
        if (random() % 3 == 0) trial.passes_before_stop = between(random, 1, 3);
        SCOPED_TRACE(describe(trial) + borders_text(trial.options.borders, Dimensions::three));
        const Folder folder(Medium::memory);
        auto store = make_store(folder, trial.shape, seed);
        ASSERT_TRUE(store) << store.failure().sentence;
        auto expected = testing::load<double>(*store);
        box.values = expected.values;
        const auto kernel = make_kernel_for("sor-3d", {}, trial.shape);
        ASSERT_TRUE(kernel) << kernel.failure().sentence;

        const auto report = run_and_resume(*store, *kernel, trial);

        ASSERT_TRUE(report) << report.failure().sentence;
        box.begin(1);
        const auto& directions = trial.options.directions;
        for (std::uint64_t n = 0; n < trial.options.iterations; ++n)
            box.iterate(1, directions[n % directions.size()], [&](auto i, auto j, auto k) {
                const double before =
                    box.at(0, i - 1, j, k) + box.at(0, i, j - 1, k) + box.at(0, i, j, k - 1);
                const double behind =
                    box.at(0, i, j, k + 1) + box.at(0, i, j + 1, k) + box.at(0, i + 1, j, k);
                const double source = box.at(1, i, j, k);
                box.at(0, i, j, k) = -0.5 * box.at(0, i, j, k) + 0.25 * (before + behind - source);
            });
        expected.values = box.values;
        expect_same(*store, expected);
    }
}

// Two matrices from corners two or more cells away, plane by plane.
struct Corners {
    std::int64_t radius;
    std::int64_t line;
    std::int64_t lines;
};

void corners_plane(void *const *updated, const void *const *data, const void *const * /*none*/,
                   std::int64_t /*row*/, std::int64_t /*first*/, std::int64_t /*end*/,
                   std::int64_t /*iteration*/, std::int64_t /*down*/, std::int64_t /*right*/,
                   void *context) {
    const auto& c = *static_cast<const Corners *>(context);
    const auto r = c.radius;
    const auto value = [&](std::int64_t matrix, std::int64_t down, std::int64_t at) {
        return static_cast<const double *>(data[matrix * (2 * r + 1) + down + r])[at];
    };
    for (auto j = r; j < c.lines - r; ++j) {
        for (auto at = j * c.line + r; at < (j + 1) * c.line - r; ++at) {
            const double u = 0.5 * value(0, -r, at - r * c.line + r) + 0.25 * value(1, r, at - r);
            const double v = 0.5 * value(1, 0, at + r * c.line - r) + 0.25 * value(0, 0, at + r);
            static_cast<double *>(updated[0])[at] = u;
            static_cast<double *>(updated[1])[at] = v;
        }
    }
}

TEST(BordersTest, KernelsOfOnesOwnOverPlanesFindTheBordersOfAllSixSides) {
    for (std::uint64_t seed = 0; seed < trials / 2 && !HasFailure(); ++seed) {
        Random random(seed + 12000);
        Trial trial{.kernel = "corners", .options = draw_options(random), .seed = seed};
        trial.options.directions = {Direction{}};
        const auto radius = between(random, 1, 3);
        auto box = draw_box(random, radius, trial.options);
        trial.shape = shape_of(box, random);
        trial.shape.data_count = 2;
        trial.shape.coefficient_count = 0;
        SCOPED_TRACE(describe(trial) + borders_text(trial.options.borders, Dimensions::three));
        const Folder folder(Medium::memory);
        auto store = make_store(folder, trial.shape, seed);
        ASSERT_TRUE(store) << store.failure().sentence;
        auto expected = testing::load<double>(*store);
        box.values = expected.values;
        Corners corners{static_cast<std::int64_t>(radius), static_cast<std::int64_t>(box.columns),
                        static_cast<std::int64_t>(box.lines)};
        UserKernel user;
        user.update_directed = corners_plane;
        user.context = &corners;
        user.radius = static_cast<std::uint32_t>(radius);
        const auto kernel = make_user_kernel(user, trial.shape);
        ASSERT_TRUE(kernel) << kernel.failure().sentence;

        const auto report = run(*store, *kernel, trial.options);

        ASSERT_TRUE(report) << report.failure().sentence;
        const auto r = radius;
        box.begin(2);
        for (std::uint64_t n = 0; n < trial.options.iterations; ++n)
            box.iterate(2, {}, [&](auto i, auto j, auto k) {
                const double u =
                    0.5 * box.at(0, i - r, j - r, k + r) + 0.25 * box.at(1, i + r, j, k - r);
                const double v = 0.5 * box.at(1, i, j + r, k - r) + 0.25 * box.at(0, i, j, k + r);
                box.at(0, i, j, k) = u;
                box.at(1, i, j, k) = v;
            });
        expected.values = box.values;
        expect_same(*store, expected);
    }
}

MatrixShape shape_of(std::uint64_t rows, std::uint64_t columns) {
    return {.rows = rows, .columns = columns, .coefficient_count = 1, .strip_rows = 8};
}

TEST(BordersTest, ARunComesToRestAtTheIterationOfThePlainLoop) {
    for (const auto *const text : {"neumann", "periodic", "columns=periodic,top=neumann"}) {
        const Folder folder(Medium::memory);
        auto store = make_store(folder, shape_of(40, 30), 3);
        ASSERT_TRUE(store);
        auto expected = testing::load<double>(*store);
        const auto kernel = make_kernel_for("eikonal", {}, store->shape());
        RunOptions options;
        options.borders = *parse_borders(text);
        options.iterations = 500;
        options.tolerance = 0.0;
        std::uint64_t iterations = 0;
        auto before = expected.values[0];
        const Plain plain{options.borders};
        for (std::uint64_t n = 1; iterations == 0; ++n) {
            expected = testing::load<double>(*store);
            plain.loop(expected, n, [&](std::uint64_t /*i*/) { testing::eikonal(expected, {}); });
            if (expected.values[0] == before) iterations = n;
            before = expected.values[0];
        }

        const auto report = run(*store, *kernel, options);

        ASSERT_TRUE(report) << report.failure().sentence;
        EXPECT_TRUE(report->converged);
        EXPECT_EQ(report->iterations, iterations) << text;
        expect_same(*store, expected);
    }
}

TEST(BordersTest, PeriodicRowsHaveOneIterationPerPassAndOthersManyWaves) {
    const auto kernel = make_kernel_for("sor", {}, shape_of(400, 30));
    RunOptions options;
    options.iterations = 12;
    options.borders = *parse_borders("periodic");

    const auto periodic = plan_run(shape_of(400, 30), *kernel, options);
    options.borders = *parse_borders("neumann,columns=periodic");
    const auto mirrored = plan_run(shape_of(400, 30), *kernel, options);

    ASSERT_TRUE(periodic && mirrored);
    EXPECT_EQ(periodic->waves, 1u);
    EXPECT_EQ(periodic->passes, 12u);
    EXPECT_EQ(periodic->held_strips, 2u);
    EXPECT_EQ(mirrored->waves, 12u);
    EXPECT_EQ(mirrored->held_strips, 0u);
}

// Upwards, with padding before the first row, the border lies in the strip before the rows that it
// is a copy of, and long rows leave time to write that strip too early.
TEST(BordersTest, AStripIsWrittenWhenItsBorderRowsAreSet) {
    Mean mean{.radius = 5};
    UserKernel user;
    user.update_directed = mean_row;
    user.context = &mean;
    user.radius = 5;
    MatrixShape long_rows{.rows = 65, .columns = 20000, .coefficient_count = 1, .strip_rows = 8};
    MatrixShape far_rows{.rows = 65, .columns = 2000, .data_count = 2, .strip_rows = 16};
    const auto sor = make_kernel_for("sor", {}, long_rows);
    const auto own = make_user_kernel(user, far_rows);
    ASSERT_TRUE(sor && own);
    for (const auto& [shape, kernel] : {std::pair{long_rows, &*sor}, {far_rows, &*own}}) {
        const Folder folder(Medium::memory);
        auto store = make_store(folder, shape, 4);
        ASSERT_TRUE(store) << store.failure().sentence;
        RunOptions options;
        options.borders = *parse_borders("neumann");
        options.directions = *parse_directions("up-right");
        options.threads = 1;

        ASSERT_TRUE(run(*store, *kernel, options));

        const auto found = testing::load<double>(*store).values[0];
        const auto row = [&found,
                          columns = static_cast<std::ptrdiff_t>(shape.columns)](std::uint64_t i) {
            const auto begin = found.begin() + static_cast<std::ptrdiff_t>(i) * columns;
            return std::vector<double>(begin, begin + columns);
        };
        for (std::uint64_t n = 0; n < kernel->radius; ++n)
            EXPECT_TRUE(row(64 - n) == row(65 - 2 * kernel->radius + n)) << n;
    }
}

TEST(BordersTest, ALeastBudgetIsEnough) {
    for (const auto *const text : {"neumann", "periodic"}) {
        Trial trial{.shape = shape_of(333, 64), .kernel = "sor9", .seed = 8};
        trial.options.borders = *parse_borders(text);
        trial.options.iterations = 5;
        const auto kernel = make_kernel_for("sor9", {}, trial.shape);
        trial.options.memory_bytes =
            plan_run(trial.shape, *kernel, trial.options)->memory_bytes_min;

        expect_bits<double>(trial);
    }
}

TEST(BordersTest, TextsOfBordersAreReadAsTheyAreWritten) {
    const std::pair<const char *, Borders> known[] = {
        {"fixed", {}},
        {"neumann",
         {BorderKind::neumann, BorderKind::neumann, BorderKind::neumann, BorderKind::neumann}},
        {"top=neumann", {.top = BorderKind::neumann}},
        {"left=periodic,right=periodic",
         {.left = BorderKind::periodic, .right = BorderKind::periodic}},
    };
    for (const auto& [text, borders] : known) {
        EXPECT_EQ(*parse_borders(text), borders) << text;
        EXPECT_EQ(borders_text(borders), text);
    }
    EXPECT_EQ(*parse_borders("neumann,rows=fixed,right=fixed"),
              Borders{.left = BorderKind::neumann});
}

TEST(BordersTest, ThreeDimensionsHaveSidesInFrontAndAtTheBack) {
    const auto three = Dimensions::three;
    const auto all = *parse_borders("periodic", three);
    const auto some = *parse_borders("neumann,lines=periodic,top=fixed", three);
    const auto of_a_row = *parse_borders("periodic");

    EXPECT_EQ(all.front, BorderKind::periodic);
    EXPECT_EQ(all.back, BorderKind::periodic);
    EXPECT_EQ(borders_text(all, three), "periodic");
    EXPECT_EQ(borders_text(some, three),
              "bottom=neumann,left=neumann,right=neumann,front=periodic,back=periodic");
    EXPECT_EQ(*parse_borders(borders_text(some, three), three), some);
    EXPECT_EQ(of_a_row.front, BorderKind::fixed);
    EXPECT_EQ(*parse_borders(borders_text(of_a_row, three), three), of_a_row);
    EXPECT_THAT(parse_borders("front=periodic", three).failure().sentence,
                HasSubstr("the front and the back are periodic both or neither"));
    EXPECT_THAT(parse_borders("front=neumann").failure().sentence, HasSubstr("this store has two"));
}

TEST(BordersTest, BordersThatCannotBeAreRefusedWithAReason) {
    const std::pair<const char *, const char *> texts[] = {
        {"", "unknown border"},
        {"neuman", "did you mean neumann?"},
        {"lft=neumann", "did you mean left?"},
        {"left=periodic", "both or neither"},
        {"rows=periodic,top=fixed", "both or neither"},
    };
    for (const auto& [text, reason] : texts) {
        const auto borders = parse_borders(text);
        ASSERT_FALSE(borders) << text;
        EXPECT_THAT(borders.failure().sentence, HasSubstr(reason));
    }
}

TEST(BordersTest, StoresThatCannotHaveSuchBordersAreRefusedWithAReason) {
    auto tiled = shape_of(40, 30);
    tiled.tile_columns = 10;
    auto low = shape_of(40, 30);
    low.strip_rows = 1;
    auto flat = shape_of(12, 20);
    flat.line_columns = 10;
    auto narrow = flat;
    narrow.line_columns = 2;
    auto thin = shape_of(12, 30);
    thin.line_columns = 10;
    thin.strip_rows = 1;
    const std::pair<MatrixShape, const char *> shapes[] = {
        {tiled, "--tile-columns 0"},         {low, "--strip-rows"},
        {shape_of(2, 30), "3 rows or more"}, {shape_of(30, 2), "3 columns or more"},
        {flat, "3 lines or more"},           {narrow, "3 columns or more"},
        {thin, "2 planes or more"}};
    for (const auto& [shape, reason] : shapes) {
        const auto kernel = make_kernel_for(shape.line_columns ? "sor-3d" : "sor", {}, shape);
        ASSERT_TRUE(kernel);
        RunOptions options;
        options.borders = *parse_borders("neumann");

        const auto plan = plan_run(shape, *kernel, options);

        ASSERT_FALSE(plan);
        EXPECT_THAT(plan.failure().sentence, HasSubstr(reason));
    }
}

TEST(BordersTest, TheResidualBeforeTheFirstIterationIsRefusedWhereBordersAreNotFixed) {
    const Folder folder(Medium::memory);
    auto store = make_store(folder, shape_of(40, 30), 3);
    ASSERT_TRUE(store);
    const auto kernel = make_kernel_for("sor", {}, store->shape());
    RunOptions options;
    options.borders = *parse_borders("neumann");
    options.until = *parse_until("residual<1e-3*first");
    options.pause_every = 4;

    const auto report = run(*store, *kernel, options);

    ASSERT_FALSE(report);
    EXPECT_THAT(report.failure().sentence, HasSubstr("without *first"));
}

}  // namespace
}  // namespace lanewise::wavefront
