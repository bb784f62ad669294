// SPDX-License-Identifier: BSD-3-Clause
//
// Cell updates of several matrices through <lanewise/wavefront.hpp>: the bits of the loop that
// calls the update for one cell after the other and then writes all of its values, for random
// shapes, layouts and directions, and refusals of stores with another number of data matrices.

#include <lanewise/wavefront.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <tuple>
#include <utility>

#include "testing/cases.hpp"
#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using testing::Folder;
using testing::Matrices;
using testing::Medium;

const auto trials = lanewise::testing::cases<std::uint64_t>(40, 15);

enum class Order { updated, previous };

// Each value from all fields around the cell and all coefficients of the cell.
template <std::size_t field_count, std::size_t coefficient_count, Order order, int stencil_radius>
struct Mixed {
    static constexpr std::size_t fields = field_count;
    static constexpr std::size_t coefficients = coefficient_count;
    static constexpr int radius = stencil_radius;
    static constexpr bool reads_previous = order == Order::previous;

    template <typename... Accessor>
    requires(sizeof...(Accessor) == field_count + coefficient_count) std::array<double, field_count>
    operator()(const Accessor&...accessors) const {
        using Read = std::function<double(int, int)>;
        const std::array<Read, sizeof...(Accessor)> read{Read(accessors)...};
        std::array<double, field_count> next{};
        for (std::size_t m = 0; m < field_count; ++m) {
            const auto& own = read[m];
            const auto& other = read[(m + 1) % field_count];
            next[m] = 0.5 * own(0, 0) + 0.125 * (own(-radius, 0) + own(0, radius)) -
                      0.1 * other(radius, -1) + 0.2 * other(0, -radius) * own(radius, 0);
            for (std::size_t c = field_count; c < read.size(); ++c)
                next[m] = next[m] + 0.01 * static_cast<double>(c + m) * read[c](0, 0);
        }
        return next;
    }
};

template <typename Update, std::size_t... I>
std::array<double, Update::fields> values_at(const Update& update,
                                             const std::vector<std::vector<double>>& data,
                                             const Matrices<double>& m, std::uint64_t at,
                                             std::index_sequence<I...>) {
    const auto accessor = [&](std::size_t matrix) {
        return [&values = matrix < Update::fields ? data[matrix] : m.values[matrix], at,
                columns = static_cast<std::int64_t>(m.columns)](int down, int right) {
            const auto place = static_cast<std::int64_t>(at) + down * columns + right;
            return values[static_cast<std::size_t>(place)];
        };
    };
    return update(accessor(I)...);
}

template <typename Update>
void iterate(const Update& update, Matrices<double>& m, const Direction& direction) {
    const auto before = m.values;
    testing::each_cell(m, Update::radius, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto next =
            values_at(update, Update::reads_previous ? before : m.values, m, i * m.columns + j,
                      std::make_index_sequence<Update::fields + Update::coefficients>{});
        for (std::size_t field = 0; field < next.size(); ++field) m.at(field, i, j) = next[field];
    });
}

using Random = std::mt19937_64;

std::uint64_t between(Random& random, std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
}

template <typename Update>
lw_wavefront_shape draw_shape(Random& random) {
    const std::array layouts{LW_LAYOUT_ROW_MAJOR, LW_LAYOUT_SKEWED, LW_LAYOUT_BLOCK,
                             LW_LAYOUT_FRONTIER};
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.layout = layouts[between(random, 0, layouts.size() - 1)];
    shape.data_count = Update::fields;
    shape.coefficient_count = Update::coefficients;
    shape.rows = between(random, 1, 70);
    shape.columns = between(random, 16, 90);
    shape.strip_rows = 8 * between(random, 1, 3);
    if (random() % 3 == 0) shape.tile_columns = between(random, 16, shape.columns);
    return shape;
}

store fill_store(const Folder& folder, const lw_wavefront_shape& shape, std::uint64_t seed) {
    auto made = store::create(folder / "s", shape);
    for (std::uint32_t m = 0; m < shape.data_count + shape.coefficient_count; ++m)
        made.fill<double>(m, [&](std::uint64_t i, std::uint64_t j) {
            return demo_value(seed, m, i, shape.columns, j);
        });
    return made;
}

Matrices<double> load(const store& held) {
    const auto shape = held.shape();
    Matrices<double> m{shape.rows, shape.columns, {}};
    for (std::uint32_t matrix = 0; matrix < shape.data_count + shape.coefficient_count; ++matrix)
        m.values.push_back(held.read<double>(matrix));
    return m;
}

template <typename Update>
void expect_the_loop(std::uint64_t seed) {
    Random random(seed);
    const Folder folder(Medium::memory);
    store made = fill_store(folder, draw_shape<Update>(random), seed);
    auto expected = load(made);
    const std::array<std::string, 4> orders{"down-right", "symmetric", "fast-sweeping", "up-right"};
    const options wanted{.iterations = between(random, 1, 7),
                         .threads = static_cast<unsigned>(between(random, 1, 3)),
                         .waves = between(random, 0, 4),
                         .directions = orders[between(random, 0, 3)]};

    run(made, Update{}, wanted);

    const auto directions = *parse_directions(wanted.directions);
    for (std::uint64_t n = 0; n < wanted.iterations; ++n)
        iterate(Update{}, expected, directions[n % directions.size()]);
    for (std::uint32_t m = 0; m < expected.values.size(); ++m)
        EXPECT_EQ(made.read<double>(m), expected.values[m]) << "matrix " << m << ", seed " << seed;
}

TEST(FieldsTest, EveryRunEqualsTheLoopThatWritesAllValuesOfACell) {
    for (std::uint64_t seed = 0; seed < trials && !HasFailure(); ++seed) {
        expect_the_loop<Mixed<1, 0, Order::updated, 1>>(seed);
        expect_the_loop<Mixed<2, 0, Order::updated, 1>>(seed);
        expect_the_loop<Mixed<2, 2, Order::updated, 2>>(seed);
        expect_the_loop<Mixed<2, 1, Order::previous, 1>>(seed);
        expect_the_loop<Mixed<3, 1, Order::previous, 2>>(seed);
        expect_the_loop<Mixed<4, 3, Order::updated, 1>>(seed);
    }
}

// Halves, a pair of them, and the place of the cell.
struct Halves {
    static constexpr int radius = 1;
    static constexpr bool knows_place = true;
    using real = half;
    std::pair<float, float> operator()(const auto& u, const auto& v, const auto& f,
                                       const place& at) const {
        const float weight = (at.row + at.column + at.iteration) % 2 == 0 ? 0.5f : 0.25f;
        return {weight * (u(-1, 0) + v(0, 1)) + f(0, 0), weight * (v(0, -1) - u(1, 0))};
    }
};

TEST(FieldsTest, SeveralValuesAreRoundedToHalvesAndKnowTheirPlace) {
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.element = LW_ELEMENT_F16;
    shape.rows = 23;
    shape.columns = 31;
    shape.strip_rows = 6;
    shape.data_count = 2;
    shape.coefficient_count = 1;
    auto made = store::create(folder / "s", shape);
    Matrices<half> m{shape.rows, shape.columns, {}};
    for (std::uint32_t matrix = 0; matrix < 3; ++matrix) {
        made.fill<half>(matrix, [&](std::uint64_t i, std::uint64_t j) -> half {
            return static_cast<float>(demo_value(3, matrix, i, shape.columns, j));
        });
        m.values.push_back(made.read<half>(matrix));
    }

    run(made, Halves{}, {.iterations = 5, .threads = 2});

    for (std::int64_t n = 0; n < 5; ++n) {
        testing::each_cell(m, 1, {}, [&](std::uint64_t i, std::uint64_t j) {
            const bool even = (static_cast<std::int64_t>(i + j) + n) % 2 == 0;
            const float weight = even ? 0.5f : 0.25f;
            const float first = weight * (m.at(0, i - 1, j) + m.at(1, i, j + 1)) + m.at(2, i, j);
            m.at(1, i, j) = weight * (m.at(1, i, j - 1) - m.at(0, i + 1, j));
            m.at(0, i, j) = first;
        });
    }
    for (std::uint32_t matrix = 0; matrix < 2; ++matrix) {
        const auto found = made.read<half>(matrix);
        for (std::size_t at = 0; at < found.size(); ++at)
            ASSERT_EQ(found[at].bits(), m.values[matrix][at].bits()) << matrix << ", " << at;
    }
}

// The first field is at rest at once; the second one is not.
struct Slow {
    static constexpr int radius = 1;
    std::tuple<double, double> operator()(const auto& u, const auto& v) const {
        return {u(0, 0), 0.5 * v(0, 0)};
    }
};

TEST(FieldsTest, ARunComesToRestWhenAllFieldsHave) {
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = shape.columns = 12;
    shape.data_count = 2;
    auto made = store::create(folder / "s", shape);
    for (const std::uint32_t m : {0u, 1u})
        made.fill<double>(m, [](std::uint64_t, std::uint64_t) { return 1.0; });

    const auto outcome = run(made, Slow{}, {.iterations = 50, .tolerance = 0.01});

    EXPECT_TRUE(outcome.converged);
    EXPECT_EQ(outcome.iterations, 7u);
    EXPECT_EQ(outcome.last_change, 1.0 / 128);
}

TEST(FieldsTest, AStoppedRunGoesOnWithAllFields) {
    using Update = Mixed<2, 1, Order::previous, 1>;
    const Folder folder(Medium::memory);
    Random random(3);
    auto made = fill_store(folder, draw_shape<Update>(random), 3);
    auto expected = load(made);
    options wanted{.iterations = 9, .waves = 2, .pause_every = 3};
    wanted.paused = [](std::uint64_t iterations, double) {
        if (iterations == 6) throw std::runtime_error("enough");
    };
    EXPECT_THROW(run(made, Update{}, wanted), std::runtime_error);

    resume(made, Update{});

    for (int n = 0; n < 9; ++n) iterate(Update{}, expected, {});
    EXPECT_EQ(made.read<double>(0), expected.values[0]);
    EXPECT_EQ(made.read<double>(1), expected.values[1]);
}

TEST(FieldsTest, BordersAreSetOfEachField) {
    using Update = Mixed<2, 0, Order::updated, 1>;
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = 20;
    shape.columns = 17;
    shape.data_count = 2;
    auto made = fill_store(folder, shape, 5);
    auto expected = load(made);
    const auto set_columns = [](Matrices<double>& m, std::uint64_t i) {
        for (const std::size_t field : {0u, 1u}) {
            m.at(field, i, 0) = m.at(field, i, 15);
            m.at(field, i, 16) = m.at(field, i, 1);
        }
    };
    for (std::uint64_t i = 1; i < 19; ++i) set_columns(expected, i);
    expected.after_row = set_columns;

    run(made, Update{}, {.iterations = 4, .borders = "columns=periodic"});

    for (int n = 0; n < 4; ++n) iterate(Update{}, expected, {});
    EXPECT_EQ(made.read<double>(0), expected.values[0]);
    EXPECT_EQ(made.read<double>(1), expected.values[1]);
}

template <typename Update>
std::string refusal(std::uint32_t data_count, std::uint32_t coefficient_count) {
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = shape.columns = 24;
    shape.data_count = data_count;
    shape.coefficient_count = coefficient_count;
    auto made = store::create(folder / "s", shape);
    try {
        run(made, Update{}, {.iterations = 1}, "mixed");
    } catch (const error& refused) {
        return refused.what();
    }
    return "";
}

TEST(FieldsTest, AStoreWithOtherNumbersOfMatricesIsRefused) {
    using Update = Mixed<2, 1, Order::updated, 1>;

    EXPECT_EQ(refusal<Update>(1, 2), "mixed updates 2 data matrices; the store has 1");
    EXPECT_EQ(refusal<Update>(3, 0), "mixed updates 2 data matrices; the store has 3");
    EXPECT_EQ((refusal<Mixed<1, 0, Order::updated, 1>>(2, 0)),
              "mixed updates 1 data matrix; the store has 2");
    EXPECT_EQ(refusal<Update>(2, 0), "mixed reads 1 coefficient matrices; the store has 0");
    // More coefficients than it reads are no fault.
    EXPECT_THAT(refusal<Update>(2, 2), ::testing::HasSubstr("is empty; fill it"));
}

}  // namespace
}  // namespace lanewise::wavefront
