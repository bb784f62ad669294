// SPDX-License-Identifier: BSD-3-Clause
//
// Cell updates through <lanewise/wavefront.hpp>: the bits of the sequential loop, row by row and
// eight rows at once, for other neighbours, radiuses and elements than the built-in kernels
// have.

#include <lanewise/wavefront.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wavefront/testing/trial.hpp"

namespace lanewise::wavefront {
namespace {

using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using testing::Medium;

struct Average {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    auto operator()(const auto& u, const auto& f) const {
        return 0.25 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0)) - f(0, 0) * u(0, 0);
    }
};

struct EveryNeighbourButNorthEast {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    using real = float;
    auto operator()(const auto& u) const {
        return 0.125f * (u(-1, -1) + u(-1, 0) + u(0, -1) + u(0, 1) + u(1, -1) + u(1, 0) + u(1, 1));
    }
};

struct EightNeighbours {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    auto operator()(const auto& u) const {
        return 0.12 * (u(-1, -1) + u(-1, 0) + u(-1, 1) + u(0, -1) + u(0, 1) + u(1, 1));
    }
};

struct Thick {
    static constexpr int radius = 2;
    static constexpr bool vectors = true;
    auto operator()(const auto& u, const auto& a, const auto& b) const {
        return a(0, 0) * u(-2, 0) + b(0, 0) * u(0, 2) + 0.3 * u(2, -1) - 0.1 * u(0, -2);
    }
};

// Every cell within two of it, north-east and south-west among them.
struct ThickAllAround {
    static constexpr int radius = 2;
    static constexpr bool vectors = true;
    auto operator()(const auto& u) const {
        auto sum = 0.04 * u(0, 0);
        for (int down = -2; down <= 2; ++down) {
            for (int right = -2; right <= 2; ++right)
                sum = sum + 0.01 * (down + 2 * right + 7) * u(down, right);
        }
        return 0.25 * sum;
    }
};

struct Thickest {
    static constexpr int radius = 7;
    static constexpr bool vectors = true;
    auto operator()(const auto& u) const {
        return 0.2 * (u(-7, -7) + u(-7, 7) + u(-1, 7) + u(1, -7) + u(7, 7) + u(0, -7) - u(0, 0));
    }
};

struct TooThickForVectors {
    static constexpr int radius = 8;
    double operator()(const auto& u) const { return 0.3 * (u(-8, 8) + u(8, -8) + u(0, -8)); }
};

// What is read updated depends on the arm that a cell takes.
struct Upwind {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    auto operator()(const auto& u, const auto& v) const {
        return v(0, 0) < 0.1 ? 0.5 * u(0, 0) + 0.5 * u(-1, 1) : 0.5 * u(0, 0) + 0.5 * u(0, -1);
    }
};

// Coefficients of neighbours are there row by row only.
struct Staggered {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    auto operator()(const auto& u, const auto& v) const {
        return 0.5 * u(0, 0) + v(0, -1) * u(0, -1) - v(0, 0) * u(-1, 0);
    }
};

// Arrival times: a cell beyond a wall of infinity is never reached.
struct Arrival {
    static constexpr int radius = 1;
    static constexpr bool vectors = true;
    auto operator()(const auto& u, const auto& cost) const {
        const auto row = u(0, -1) < u(0, 1) ? u(0, -1) : u(0, 1);
        const auto column = u(-1, 0) < u(1, 0) ? u(-1, 0) : u(1, 0);
        const auto best = (row < column ? row : column) + cost(0, 0);
        return best < u(0, 0) ? best : u(0, 0);
    }
};

struct Previous {
    static constexpr int radius = 1;
    static constexpr bool reads_previous = true;
    double operator()(const auto& u) const {
        return 0.25 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 1));
    }
};

struct AverageOfUpdated {
    static constexpr int radius = 1;
    double operator()(const auto& u) const {
        return 0.25 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 1));
    }
};

// What the update takes as matrix `m` in the loop below.
template <typename Real>
struct Place {
    const std::vector<Real> *values;
    std::uint64_t columns;
    std::uint64_t at;
    Real operator()(int down, int right) const {
        const auto offset = down * static_cast<std::int64_t>(columns) + right;
        return (*values)[static_cast<std::size_t>(static_cast<std::int64_t>(at) + offset)];
    }
};

template <typename Update, typename Real>
void sweep_once(const Update& update, testing::Matrices<Real>& m, const Direction& direction) {
    const auto before = m.values[0];
    testing::each_cell(m, Update::radius, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto place = [&](std::size_t k) {
            const bool old = k == 0 && detail::reads_previous<Update>();
            return Place<Real>{old ? &before : &m.values[k], m.columns, i * m.columns + j};
        };
        if constexpr (std::is_invocable_v<const Update&, Place<Real>>)
            m.at(0, i, j) = update(place(0));
        else if constexpr (std::is_invocable_v<const Update&, Place<Real>, Place<Real>>)
            m.at(0, i, j) = update(place(0), place(1));
        else
            m.at(0, i, j) = update(place(0), place(1), place(2));
    });
}

template <typename Update>
store fill_store(const Folder& folder, const char *layout, std::uint64_t rows,
                 std::uint64_t columns) {
    using Real = typename detail::real_of<Update>::type;
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.element = detail::element_of<Real>();
    shape.layout = layout;
    shape.rows = rows;
    shape.columns = columns;
    shape.strip_rows = 16;
    shape.coefficient_count = detail::sweep<Real, Update>::coefficients;
    auto made = store::create(folder / "s", shape);
    for (std::uint32_t m = 0; m <= shape.coefficient_count; ++m)
        made.template fill<Real>(m, [&](std::uint64_t i, std::uint64_t j) -> Real {
            return static_cast<arithmetic_t<Real>>(0.5 * demo_value(3, m, i, columns, j));
        });
    return made;
}

template <typename Update>
void expect_the_loop(const char *layout, const options& wanted) {
    using Real = typename detail::real_of<Update>::type;
    for (const auto& [rows, columns] : {std::pair{75u, 64u}, std::pair{16u, 9u}}) {
        const Folder folder(Medium::memory);
        auto made = fill_store<Update>(folder, layout, rows, columns);
        testing::Matrices<Real> expected{rows, columns, {}};
        for (std::uint32_t m = 0; m < detail::sweep<Real, Update>::matrices; ++m)
            expected.values.push_back(made.template read<Real>(m));

        const auto outcome = run(made, Update{}, wanted);

        const auto directions =
            *parse_directions(wanted.directions.empty() ? "down-right" : wanted.directions);
        for (std::uint64_t k = 0; k < outcome.iterations; ++k)
            sweep_once(Update{}, expected, directions[k % directions.size()]);
        EXPECT_EQ(made.template read<Real>(0), expected.values[0]) << rows << " x " << columns;
    }
}

TEST(UpdateTest, GivesTheBitsOfTheLoopRowByRow) {
    const options wanted{.iterations = 7, .threads = 2};
    expect_the_loop<Average>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<EveryNeighbourButNorthEast>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<EightNeighbours>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<Thick>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<ThickAllAround>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<Thickest>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<TooThickForVectors>(LW_LAYOUT_ROW_MAJOR, wanted);
    expect_the_loop<Previous>(LW_LAYOUT_ROW_MAJOR, wanted);
}

TEST(UpdateTest, GivesTheSameBitsEightRowsAtOnce) {
    for (const std::uint64_t iterations : {3u, 40u}) {
        const options wanted{.iterations = iterations, .threads = 2};
        expect_the_loop<Average>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<EveryNeighbourButNorthEast>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<EightNeighbours>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<Thick>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<ThickAllAround>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<Thickest>(LW_LAYOUT_SKEWED, wanted);
    }
}

TEST(UpdateTest, GoesInEveryDirectionEightRowsAtOnce) {
    for (const auto *directions : {"fast-sweeping", "symmetric", "up-right,down-left", "up-left"}) {
        const options wanted{.iterations = 9, .threads = 2, .directions = directions};
        expect_the_loop<Average>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<EveryNeighbourButNorthEast>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<EightNeighbours>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<Thick>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<ThickAllAround>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<Thickest>(LW_LAYOUT_SKEWED, wanted);
        expect_the_loop<Upwind>(LW_LAYOUT_SKEWED, wanted);
    }
}

TEST(UpdateTest, ReadsWhatEitherArmOfAChoiceReads) {
    expect_the_loop<Upwind>(LW_LAYOUT_ROW_MAJOR, {.iterations = 5, .threads = 2});
    expect_the_loop<Upwind>(LW_LAYOUT_SKEWED, {.iterations = 5, .threads = 2});
}

TEST(UpdateTest, ReadsCoefficientsOfNeighboursInTheRowOnAnyLayout) {
    expect_the_loop<Staggered>(LW_LAYOUT_ROW_MAJOR, {.iterations = 5, .threads = 2});
    expect_the_loop<Staggered>(LW_LAYOUT_SKEWED, {.iterations = 5, .threads = 2});
}

TEST(UpdateTest, CellsAtInfinityAreAtRest) {
    const auto infinite = std::numeric_limits<double>::infinity();
    for (const auto *layout : {LW_LAYOUT_ROW_MAJOR, LW_LAYOUT_SKEWED}) {
        const Folder folder(Medium::memory);
        auto made = fill_store<Arrival>(folder, layout, 40, 40);
        made.fill<double>(0, [&](auto i, auto j) { return i == 20 && j == 20 ? 0.0 : infinite; });
        made.fill<double>(1, [&](auto i, auto) { return i == 10 ? infinite : 1.0; });

        const auto outcome = run(made, Arrival{}, {.iterations = 500, .tolerance = 0.0});

        EXPECT_TRUE(outcome.converged) << layout;
        EXPECT_LT(outcome.iterations, 100u) << layout;
        EXPECT_EQ(outcome.last_change, 0.0) << layout;
        EXPECT_EQ(made.read<double>(0)[5 * 40 + 20], infinite) << layout;
    }
}

template <typename Update>
lw_wavefront_kernel kernel_with_steps() {
    using Real = typename detail::real_of<Update>::type;
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    detail::sweep<Real, Update>::set_steps(Update{}, kernel);
    return kernel;
}

template <typename Update>
std::uint32_t skew_of() {
    const auto kernel = kernel_with_steps<Update>();
    return kernel.advance ? kernel.skew : 0;
}

// With a skew of one, north-western neighbours are in reach of iterations down and right only.
TEST(UpdateTest, StepsTurnWhereTheSkewIsEnoughForEveryDirection) {
    EXPECT_TRUE(kernel_with_steps<Average>().steps_turn);
    EXPECT_TRUE(kernel_with_steps<EightNeighbours>().steps_turn);
    EXPECT_TRUE(kernel_with_steps<Thickest>().steps_turn);
    EXPECT_FALSE(kernel_with_steps<EveryNeighbourButNorthEast>().steps_turn);
}

TEST(UpdateTest, RowsLagByAsMuchAsTheUpdateReadsAhead) {
    EXPECT_EQ(skew_of<Average>(), 1u);
    EXPECT_EQ(skew_of<EveryNeighbourButNorthEast>(), 1u);
    EXPECT_EQ(skew_of<Thick>(), 1u);
    EXPECT_EQ(skew_of<EightNeighbours>(), 2u);
    EXPECT_EQ(skew_of<ThickAllAround>(), 3u);
    EXPECT_EQ(skew_of<Thickest>(), 8u);
    EXPECT_EQ(skew_of<Upwind>(), 2u);
    EXPECT_EQ(skew_of<Staggered>(), 0u);
}

TEST(UpdateTest, StopsWhereTheLoopComesToRestEightRowsAtOnce) {
    const Folder folder(Medium::memory);
    auto skewed = fill_store<Average>(folder, LW_LAYOUT_SKEWED, 40, 40);
    const Folder other(Medium::memory);
    auto rows = fill_store<Average>(other, LW_LAYOUT_ROW_MAJOR, 40, 40);
    const options wanted{.iterations = 4000, .tolerance = 1e-6};

    const auto found = run(skewed, Average{}, wanted);
    const auto expected = run(rows, Average{}, wanted);

    EXPECT_TRUE(found.converged);
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(skewed.read<double>(0), rows.read<double>(0));
}

TEST(UpdateTest, WorksRowByRowOnAnyLayoutWhereEightRowsAtOnceAreNotPossible) {
    for (const auto layout : {LW_LAYOUT_SKEWED, LW_LAYOUT_BLOCK, LW_LAYOUT_FRONTIER}) {
        expect_the_loop<TooThickForVectors>(layout, {.iterations = 5, .threads = 2});
        expect_the_loop<Previous>(layout, {.iterations = 5, .threads = 2});
    }
}

// Red cells in even iterations, black ones in odd ones, with a weight that grows.
struct RedBlack {
    static constexpr int radius = 1;
    static constexpr bool knows_place = true;
    double operator()(const auto& u, const auto& f, const place& at) const {
        if ((at.row + at.column + at.iteration) % 2 != 0) return u(0, 0);
        const double omega = 1.0 + 0.01 * static_cast<double>(at.iteration);
        return (1 - omega) * u(0, 0) +
               omega / 4 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0) - f(0, 0));
    }
};

TEST(UpdateTest, KnowsItsPlaceAndItsIteration) {
    const Folder folder(Medium::memory);
    auto made = fill_store<RedBlack>(folder, LW_LAYOUT_SKEWED, 40, 31);
    testing::Matrices<double> m{40, 31, {made.read<double>(0), made.read<double>(1)}};
    const options wanted{.iterations = 8, .threads = 2, .directions = "up-right,down-left"};

    run(made, RedBlack{}, wanted);
    run(made, RedBlack{}, {.iterations = 3});

    for (std::int64_t n = 0; n < 11; ++n) {
        const auto iteration = n < 8 ? n : n - 8;
        const Direction direction{.up = n < 8 && n % 2 == 0, .left = n < 8 && n % 2 == 1};
        testing::each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
            const auto at = i * m.columns + j;
            m.at(0, i, j) = RedBlack{}(
                Place<double>{&m.values[0], m.columns, at},
                Place<double>{&m.values[1], m.columns, at},
                place{iteration, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
        });
    }
    EXPECT_EQ(made.read<double>(0), m.values[0]);
}

TEST(UpdateTest, SetsTheBordersThatAreAskedFor) {
    const Folder folder(Medium::memory);
    auto made = fill_store<RedBlack>(folder, LW_LAYOUT_SKEWED, 40, 31);
    testing::Matrices<double> m{40, 31, {made.read<double>(0), made.read<double>(1)}};
    const auto set_columns = [](testing::Matrices<double>& now, std::uint64_t i) {
        now.at(0, i, 0) = now.at(0, i, 29);
        now.at(0, i, 30) = now.at(0, i, 1);
    };
    for (std::uint64_t i = 1; i < 39; ++i) set_columns(m, i);
    m.after_row = set_columns;

    run(made, RedBlack{}, {.iterations = 5, .threads = 2, .borders = "columns=periodic"});

    for (std::int64_t n = 0; n < 5; ++n) {
        testing::each_cell(m, 1, {}, [&](std::uint64_t i, std::uint64_t j) {
            const auto at = i * m.columns + j;
            m.at(0, i, j) =
                RedBlack{}(Place<double>{&m.values[0], m.columns, at},
                           Place<double>{&m.values[1], m.columns, at},
                           place{n, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
        });
    }
    EXPECT_EQ(made.read<double>(0), m.values[0]);
}

template <typename Update>
void expect_the_loop_each_way(const char *layout) {
    using Real = typename detail::real_of<Update>::type;
    const Folder folder(Medium::memory);
    auto made = fill_store<Update>(folder, layout, 53, 37);
    testing::Matrices<Real> expected{53, 37, {}};
    for (std::uint32_t m = 0; m < detail::sweep<Real, Update>::matrices; ++m)
        expected.values.push_back(made.template read<Real>(m));

    run(made, Update{}, {.iterations = 6, .threads = 2, .directions = "fast-sweeping"});

    const auto directions = *parse_directions("fast-sweeping");
    for (std::size_t n = 0; n < 6; ++n) {
        testing::each_cell(expected, Update::radius, directions[n % 4], [&](auto i, auto j) {
            const auto at = i * expected.columns + j;
            const Place<Real> u{&expected.values[0], expected.columns, at};
            if constexpr (detail::sweep<Real, Update>::matrices == 1)
                expected.at(0, i, j) = Update{}(u);
            else
                expected.at(0, i, j) =
                    Update{}(u, Place<Real>{&expected.values[1], expected.columns, at});
        });
    }
    EXPECT_EQ(made.template read<Real>(0), expected.values[0]) << layout;
}

TEST(UpdateTest, GivesTheBitsOfTheLoopInEveryDirection) {
    for (const auto *layout : {LW_LAYOUT_ROW_MAJOR, LW_LAYOUT_SKEWED, LW_LAYOUT_FRONTIER}) {
        expect_the_loop_each_way<Average>(layout);
        expect_the_loop_each_way<EveryNeighbourButNorthEast>(layout);
        expect_the_loop_each_way<ThickAllAround>(layout);
        expect_the_loop_each_way<TooThickForVectors>(layout);
    }
}

// The longest common subsequence of two texts of digits, whose equal places are ones.
template <typename Whole>
struct CommonSubsequence {
    static constexpr int radius = 1;
    using real = Whole;
    Whole operator()(const auto& u, const auto& equal) const {
        return std::max({u(-1, 0), u(0, -1), u(-1, -1) + equal(0, 0)});
    }
};

template <typename Whole>
void expect_common_subsequences() {
    constexpr std::uint64_t side = 60;
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.element = detail::element_of<Whole>();
    shape.rows = shape.columns = side;
    shape.strip_rows = 7;
    shape.coefficient_count = 1;
    auto made = store::create(folder / "s", shape);
    const auto equal = [](std::uint64_t i, std::uint64_t j) -> Whole {
        return i * i % 7 == (3 * j + 1) % 7 ? 1 : 0;
    };
    made.fill<Whole>(0, [](std::uint64_t, std::uint64_t) { return 0; });
    made.fill<Whole>(1, equal);

    run(made, CommonSubsequence<Whole>{}, {.iterations = 1});

    std::vector<Whole> expected(side * side);
    for (std::uint64_t i = 1; i + 1 < side; ++i) {
        for (std::uint64_t j = 1; j + 1 < side; ++j) {
            const auto at = i * side + j;
            expected[at] = std::max(expected[at - side], expected[at - 1]);
            if (equal(i, j))
                expected[at] = std::max<Whole>(expected[at], expected[at - side - 1] + 1);
        }
    }
    EXPECT_EQ(made.read<Whole>(0), expected);
}

TEST(UpdateTest, UpdatesWholeNumbers) {
    expect_common_subsequences<std::int32_t>();
    expect_common_subsequences<std::int64_t>();
}

// Whatever it is called with is a float, and what it returns is stored as a half.
struct HalfAverage {
    static constexpr int radius = 1;
    using real = half;
    auto operator()(const auto& u, const auto& f) const {
        static_assert(std::is_same_v<decltype(u(0, 0)), float>);
        return 0.25f * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0)) - f(0, 0) * u(0, 0);
    }
};

TEST(UpdateTest, UpdatesHalvesInFloats) {
    const Folder folder(Medium::memory);
    auto made = fill_store<HalfAverage>(folder, LW_LAYOUT_ROW_MAJOR, 40, 33);
    testing::Matrices<half> m{40, 33, {made.read<half>(0), made.read<half>(1)}};

    run(made, HalfAverage{}, {.iterations = 6, .threads = 2});

    for (int n = 0; n < 6; ++n) {
        testing::each_cell(m, 1, {}, [&](std::uint64_t i, std::uint64_t j) {
            const float sum =
                m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) + m.at(0, i + 1, j);
            m.at(0, i, j) = 0.25f * sum - m.at(1, i, j) * m.at(0, i, j);
        });
    }
    const auto found = made.read<half>(0);
    for (std::size_t at = 0; at < found.size(); ++at)
        EXPECT_EQ(found[at].bits(), m.values[0][at].bits()) << at;
}

template <typename Value>
void fill_zeros(store& made) {
    made.fill<Value>(0, [](std::uint64_t, std::uint64_t) { return Value{}; });
}

TEST(UpdateTest, ValuesOfAnotherTypeThanTheStoreHoldsAreRefused) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = shape.columns = 8;
    shape.element = LW_ELEMENT_F32;
    auto floats = store::create_in_memory(shape);
    shape.element = LW_ELEMENT_F16;
    auto halves = store::create_in_memory(shape);
    shape.element = LW_ELEMENT_C64;
    auto pairs = store::create_in_memory(shape);
    fill_zeros<float>(floats);
    fill_zeros<std::uint16_t>(halves);
    fill_zeros<std::complex<float>>(pairs);

    EXPECT_THROW(fill_zeros<double>(floats), error);
    EXPECT_THROW(fill_zeros<std::int32_t>(floats), error);
    EXPECT_THROW((void)halves.read<float>(0), error);
    EXPECT_THROW((void)pairs.read<double>(0), error);
    EXPECT_EQ(floats.read<float>(0), std::vector<float>(64, 0.0f));
    EXPECT_EQ(halves.read<std::uint16_t>(0), std::vector<std::uint16_t>(64, 0));
    EXPECT_EQ(pairs.read<std::complex<float>>(0), std::vector<std::complex<float>>(64));
}

TEST(UpdateTest, RefusesAStoreWithCoefficientsByRowAndFillsThem) {
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = 5;
    shape.columns = 9;
    shape.row_coefficient_count = 1;
    shape.column_coefficient_count = 1;
    auto made = store::create(folder / "s", shape);
    made.fill<double>(1, [](std::uint64_t i, std::uint64_t j) {
        return 10.0 * static_cast<double>(i) + static_cast<double>(j);
    });
    made.fill<double>(2, [](std::uint64_t i, std::uint64_t j) {
        return 10.0 * static_cast<double>(i) + static_cast<double>(j);
    });

    EXPECT_EQ(made.read<double>(1), (std::vector<double>{0, 10, 20, 30, 40}));
    EXPECT_EQ(made.read<double>(2), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_THROW(run(made, Previous{}, {.iterations = 1}), error);
}

struct SevenPoints {
    static constexpr int radius = 1;
    static constexpr int dimensions = 3;
    double omega;
    double operator()(const auto& u, const auto& f) const {
        const double before = (u(-1, 0, 0) + u(0, -1, 0)) + u(0, 0, -1);
        const double after = (u(0, 0, 1) + u(0, 1, 0)) + u(1, 0, 0);
        return (1 - omega) * u(0, 0, 0) + omega / 6 * ((before + after) - f(0, 0, 0));
    }
};

store cube(const std::string& folder, std::uint32_t data_count = 1) {
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = 17;
    shape.columns = 11 * 9;
    shape.line_columns = 9;
    shape.data_count = data_count;
    shape.coefficient_count = 1;
    shape.strip_rows = 4;
    auto made = store::create(folder, shape);
    for (std::uint32_t m = 0; m <= data_count; ++m)
        made.fill<double>(
            m, [m](std::uint64_t i, std::uint64_t j) { return demo_value(m, 0, i, 99, j); });
    return made;
}

TEST(UpdateTest, GivesTheBitsOfTheBuiltInKernelInEveryDirectionOfThreeDimensions) {
    for (const char *directions :
         {"down-right", "up-left", "symmetric-3d", "fast-sweeping-3d", "up-back-right"}) {
        const Folder folder(Medium::memory);
        auto own = cube(folder / "own");
        auto built_in = cube(folder / "built-in");
        lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
        options.iterations = 11;
        options.directions = directions;
        const double omega = 1.5;

        run(own, SevenPoints{omega}, {.iterations = 11, .threads = 2, .directions = directions});
        built_in.check(lw_wavefront_run(built_in.handle(), "sor-3d", &omega, 1, &options, nullptr));

        EXPECT_EQ(own.read<double>(0), built_in.read<double>(0)) << directions;
    }
}

// Two fields with radius 2, the cell's place, and the data of the iteration before.
struct Far {
    static constexpr int radius = 2;
    static constexpr int dimensions = 3;
    static constexpr bool reads_previous = true;
    static constexpr bool knows_place = true;
    std::array<double, 2> operator()(const auto& u, const auto& v, const auto& f,
                                     const place& at) const {
        const auto where = static_cast<double>(at.row * 10000 + at.line * 100 + at.column);
        return {0.25 * (u(-2, 0, 0) + u(0, 2, 0)) + 1e-6 * where,
                0.5 * v(0, 0, -2) * f(0, 0, 0) + static_cast<double>(at.iteration)};
    }
};

TEST(UpdateTest, UpdatesSeveralFieldsOfThreeDimensionsFromWhatTheyWere) {
    const Folder folder(Medium::memory);
    auto made = cube(folder / "store", 2);
    auto u = made.read<double>(0);
    auto v = made.read<double>(1);
    const auto f = made.read<double>(2);
    constexpr std::int64_t plane = 99;
    constexpr std::int64_t line = 9;
    for (int iteration = 0; iteration < 4; ++iteration) {
        const auto u_before = u;
        const auto v_before = v;
        for (std::int64_t i = 2; i < 15; ++i)
            for (std::int64_t j = 2; j < 9; ++j)
                for (std::int64_t k = 2; k < 7; ++k) {
                    const auto at = static_cast<std::size_t>(i * plane + j * line + k);
                    const auto where = static_cast<double>(i * 10000 + j * 100 + k);
                    u[at] =
                        0.25 * (u_before[at - 2 * plane] + u_before[at + 2 * line]) + 1e-6 * where;
                    v[at] = 0.5 * v_before[at - 2] * f[at] + static_cast<double>(iteration);
                }
    }

    run(made, Far{}, {.iterations = 4, .threads = 2});

    EXPECT_EQ(made.read<double>(0), u);
    EXPECT_EQ(made.read<double>(1), v);
}

TEST(UpdateTest, RefusesAStoreOfOtherDimensions) {
    const Folder folder(Medium::memory);
    auto made = cube(folder / "cube");
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = shape.columns = 9;
    shape.coefficient_count = 1;
    auto flat = store::create(folder / "flat", shape);
    const auto sentence = [](const auto& act) -> std::string {
        try {
            act();
        } catch (const error& refused) {
            return refused.what();
        }
        return "";
    };

    EXPECT_THAT(sentence([&] { run(made, Average{}, {}); }),
                ::testing::HasSubstr("static constexpr int dimensions = 3"));
    EXPECT_THAT(sentence([&] { run(flat, SevenPoints{1.5}, {}); }),
                ::testing::HasSubstr("three dimensions; the store has two"));
}

TEST(UpdateTest, RefusesAStoreOfAnotherElement) {
    const Folder folder(Medium::memory);
    auto made = fill_store<EveryNeighbourButNorthEast>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);

    EXPECT_THROW(run(made, Previous{}, {.iterations = 1}), error);
}

TEST(UpdateTest, RefusesAStoreWithFewerCoefficientsOrMoreFieldsThanItTakes) {
    const Folder folder(Medium::memory);
    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = shape.columns = 24;
    shape.coefficient_count = 1;
    auto fewer = store::create(folder / "fewer", shape);
    shape.coefficient_count = 2;
    shape.data_count = 2;
    auto fields = store::create(folder / "fields", shape);

    EXPECT_THROW(run(fewer, Thick{}, {.iterations = 1}), error);
    EXPECT_THROW(run(fields, Thick{}, {.iterations = 1}), error);
}

TEST(UpdateTest, ARunIsGoneOnWithByTheKernelOfThatNameOnly) {
    const Folder folder(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);
    run(made, Previous{}, {.iterations = 2}, "previous");

    EXPECT_THROW(resume(made, Previous{}, {}, "another"), error);
    EXPECT_EQ(resume(made, Previous{}, {}, "previous").iterations, 0u);
    // One of that name that reads other values would end with other bits.
    EXPECT_THROW(resume(made, AverageOfUpdated{}, {}, "previous"), error);
}

TEST(UpdateTest, APauseComesEvery32IterationsUnlessSaidOtherwise) {
    const Folder folder(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);
    std::vector<std::uint64_t> pauses;
    const auto note = [&](std::uint64_t iterations, double) { pauses.push_back(iterations); };

    run(made, Previous{}, {.iterations = 100, .paused = note});

    EXPECT_THAT(pauses, ElementsAre(32u, 64u, 96u, 100u));
}

struct Unfinished : std::logic_error {
    using std::logic_error::logic_error;
};

TEST(UpdateTest, WhatAValueThrowsIsThrownByFillAndTheMatrixIsAsItWas) {
    const Folder folder(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);
    const auto before = made.read<double>(0);
    const auto unfinished = [](std::uint64_t row, std::uint64_t) -> double {
        return row < 20 ? 1.0 : throw Unfinished("row 20 is not there yet");
    };
    const auto number = [](std::uint64_t row, std::uint64_t) -> double {
        return row < 20 ? 1.0 : throw 5;
    };

    EXPECT_THROW(made.fill<double>(0, unfinished), Unfinished);
    EXPECT_THROW(made.fill<double>(0, number), int);
    EXPECT_EQ(made.read<double>(0), before);
}

struct ThrowsANumber {
    static constexpr int radius = 1;
    double operator()(const auto&) const { throw 5; }
};

TEST(UpdateTest, AnUpdateThatThrowsWhatIsNoExceptionEndsTheRunByAnError) {
    const Folder folder(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 75, 64);
    const auto before = made.read<double>(0);

    for (const unsigned threads : {1u, 2u}) {
        EXPECT_THROW(run(made, ThrowsANumber{}, {.iterations = 4, .threads = threads}), error);
    }
    EXPECT_EQ(made.read<double>(0), before);
}

template <typename Use>
std::string refusal_of(const Use& use) {
    try {
        use();
    } catch (const error& refused) {
        return refused.what();
    }
    return "";
}

TEST(UpdateTest, AStoreThatWasMovedAwayIsRefused) {
    const Folder folder(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);
    const auto moved = std::move(made);

    const auto sentence = refusal_of([&] { (void)made.shape(); });

    EXPECT_THAT(sentence, HasSubstr("was moved"));
    EXPECT_EQ(refusal_of([&] { (void)made.iterations(); }), sentence);
    EXPECT_EQ(refusal_of([&] { fill_zeros<double>(made); }), sentence);
    EXPECT_EQ(refusal_of([&] { (void)made.read<double>(0); }), sentence);
    EXPECT_EQ(refusal_of([&] { run(made, Previous{}, {.iterations = 1}); }), sentence);
    EXPECT_EQ(moved.shape().rows, 24u);
}

TEST(UpdateTest, AStoreThatWasAssignedAwayIsRefusedAndTheOneBeforeItIsClosed) {
    const Folder folder(Medium::memory);
    const Folder other(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);
    auto target = fill_store<Previous>(other, LW_LAYOUT_ROW_MAJOR, 48, 48);

    target = std::move(made);

    EXPECT_EQ(target.shape().rows, 24u);
    EXPECT_THAT(refusal_of([&] { (void)made.shape(); }), HasSubstr("was moved"));
    EXPECT_EQ(store::open(other / "s").shape().rows, 48u);
}

TEST(UpdateTest, AnOldSentenceExplainsNoOtherFailure) {
    const Folder folder(Medium::memory);
    auto made = fill_store<Previous>(folder, LW_LAYOUT_ROW_MAJOR, 24, 24);
    const auto unfinished = [](std::uint64_t, std::uint64_t) -> double { throw Unfinished(""); };
    const auto interrupted = [](std::uint64_t, double) { throw Unfinished(""); };
    const options wanted{.iterations = 4, .pause_every = 2, .paused = interrupted};

    EXPECT_THAT(refusal_of([&] { (void)made.read<double>(7); }), HasSubstr("7"));
    EXPECT_EQ(refusal_of([&] { made.check(LW_ERR_IO); }), lw_status_text(LW_ERR_IO));
    EXPECT_THROW(made.fill<double>(0, unfinished), Unfinished);
    EXPECT_EQ(refusal_of([&] { made.check(LW_ERR_IO); }), lw_status_text(LW_ERR_IO));
    EXPECT_THROW(run(made, Previous{}, wanted), Unfinished);
    EXPECT_EQ(refusal_of([&] { made.check(LW_ERR_IO); }), lw_status_text(LW_ERR_IO));
}

}  // namespace
}  // namespace lanewise::wavefront
