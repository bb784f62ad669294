// SPDX-License-Identifier: BSD-3-Clause
//
// Round trips between all pairs and point-to-two experiments of all triplets.

#include <lanewise/measure.h>

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::fixed_repetitions;
using testing::Samples;
using testing::size_of;

using Key = std::tuple<int, int, int>;

std::vector<lw_point> points_of(const Samples& samples) {
    std::vector<lw_point> points(lw_samples_count(samples.get()), LW_POINT);
    for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(lw_samples_point(samples.get(), i, &points[i]), LW_OK);
    }
    return points;
}

std::vector<Key> keys_of(const Samples& samples) {
    std::vector<Key> keys;
    for (const auto& point : points_of(samples)) {
        keys.emplace_back(point.root, point.peer, point.second_peer);
    }
    return keys;
}

std::vector<Key> all_pairs(int ranks) {
    std::vector<Key> keys;
    for (int i = 0; i < ranks; ++i) {
        for (int j = i + 1; j < ranks; ++j) keys.emplace_back(i, j, -1);
    }
    return keys;
}

std::vector<Key> all_triplets(int ranks) {
    std::vector<Key> keys;
    for (int i = 0; i < ranks; ++i) {
        for (int j = i + 1; j < ranks; ++j) {
            for (int k = j + 1; k < ranks; ++k) {
                keys.insert(keys.end(), {{i, j, k}, {j, i, k}, {k, i, j}});
            }
        }
    }
    return keys;
}

Samples measure_pairs(std::uint64_t there, std::uint64_t back, lw_order order,
                      const lw_measure_options& options) {
    lw_samples *samples = nullptr;
    EXPECT_EQ(lw_measure_pairs(MPI_COMM_WORLD, there, back, order, &options, &samples), LW_OK);
    return Samples(samples);
}

Samples measure_triplets(lw_order order, const lw_measure_options& options) {
    lw_samples *samples = nullptr;
    EXPECT_EQ(lw_measure_triplets(MPI_COMM_WORLD, 64, 8, order, &options, &samples), LW_OK);
    return Samples(samples);
}

class PairRounds : public ::testing::TestWithParam<lw_order> {
  protected:
    int ranks_ = size_of(MPI_COMM_WORLD);
};
INSTANTIATE_TEST_SUITE_P(InEitherOrder, PairRounds,
                         ::testing::Values(LW_ORDER_PARALLEL, LW_ORDER_SEQUENTIAL));

TEST_P(PairRounds, HoldEveryPairInOrder) {
    const auto samples = measure_pairs(8, 8, GetParam(), fixed_repetitions(3));

    EXPECT_EQ(keys_of(samples), all_pairs(ranks_));
}

TEST_P(PairRounds, HoldEverySenderOfEveryTriplet) {
    if (ranks_ < 3) GTEST_SKIP() << "a triplet is three ranks";

    const auto samples = measure_triplets(GetParam(), fixed_repetitions(2));

    EXPECT_EQ(keys_of(samples), all_triplets(ranks_));
}

TEST_P(PairRounds, CarryDifferentSizesEachWay) {
    const std::pair<std::uint64_t, std::uint64_t> ways[] = {
        {0, 0}, {0, 100'000}, {100'000, 0}, {5000, 3}};
    for (const auto& [there, back] : ways) {
        const auto samples = measure_pairs(there, back, GetParam(), fixed_repetitions(2));

        for (const auto& point : points_of(samples)) {
            EXPECT_EQ(point.message_bytes, there);
            EXPECT_EQ(point.reply_bytes, back);
            EXPECT_GT(point.median_s, 0.0);
        }
    }
}

TEST_P(PairRounds, RepeatAFixedCountAndKeepEveryValue) {
    const auto samples = measure_pairs(8, 8, GetParam(), fixed_repetitions(7));

    for (std::size_t i = 0; i < lw_samples_count(samples.get()); ++i) {
        std::size_t count = 0;
        lw_samples_values(samples.get(), i, &count);
        EXPECT_EQ(count, 7u);
    }
}

TEST_P(PairRounds, DrawAtLeastTwoBatchesWhereTheCountIsNotFixed) {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.repetitions_min = 4;
    options.repetitions_max = 16;

    const auto samples = measure_pairs(8, 8, GetParam(), options);

    for (const auto& point : points_of(samples)) EXPECT_GE(point.batch_count, 2u);
}

TEST_P(PairRounds, TellEveryRankTheSame) {
    const auto samples = measure_pairs(8, 8, GetParam(), fixed_repetitions(3));

    std::vector<double> mine;
    for (const auto& point : points_of(samples)) mine.push_back(point.median_s);
    auto theirs = mine;
    MPI_Bcast(theirs.data(), static_cast<int>(theirs.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    EXPECT_EQ(mine, theirs);
}

}  // namespace
}  // namespace lanewise::measure
