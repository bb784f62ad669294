// SPDX-License-Identifier: BSD-3-Clause
//
// Measuring on a simulated cluster, where nothing disturbs and the true time is
// known: eight hosts on one switch, 125 MB/s and 50 us a link (switched.xml).
// Times are simulated seconds, the same in every run and on every machine.

#include <lanewise/measure.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::fixed_repetitions;
using testing::Operation;
using testing::operation_named;
using testing::rank_of;
using testing::Samples;
using testing::size_of;

// The root sends to one rank after the other; what a flat tree does.
int linear_scatter(const void *send, int count, MPI_Datatype type, void *receive, int, MPI_Datatype,
                   int root, MPI_Comm comm) {
    constexpr int tag = 3;
    if (rank_of(comm) != root)
        return MPI_Recv(receive, count, type, root, tag, comm, MPI_STATUS_IGNORE);
    const auto *blocks = static_cast<const std::byte *>(send);
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    for (int r = 0; r < size_of(comm); ++r) {
        if (r == root) continue;
        const auto offset = static_cast<std::ptrdiff_t>(r) * count * bytes;
        const int code = MPI_Send(blocks + offset, count, type, r, tag, comm);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

double median_s(const lw_operation *operation, std::uint64_t bytes,
                const lw_measure_options& options) {
    lw_samples *raw = nullptr;
    EXPECT_EQ(lw_measure(MPI_COMM_WORLD, operation, 0, &bytes, 1, &options, &raw), LW_OK);
    const Samples samples(raw);
    return lw_samples_median(raw, 0);
}

/* All pairs: what was found, and how long it took in simulated time. */
struct Pairs {
    std::vector<double> medians_s;
    double elapsed_s = 0.0;
};

Pairs measure_pairs(lw_order order) {
    const auto options = fixed_repetitions(10);
    lw_samples *raw = nullptr;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = MPI_Wtime();
    EXPECT_EQ(lw_measure_pairs(MPI_COMM_WORLD, 65536, 65536, order, &options, &raw), LW_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    Pairs pairs{{}, MPI_Wtime() - begin_s};
    const Samples samples(raw);
    for (std::size_t i = 0; i < lw_samples_count(raw); ++i) {
        pairs.medians_s.push_back(lw_samples_median(raw, i));
    }
    return pairs;
}

// Half a round trip without any harness: what the simulator makes of one message.
// The second of two, which both ranks begin without waiting for the other.
double message_s(int bytes) {
    constexpr int tag = 7;
    const int rank = rank_of(MPI_COMM_WORLD);
    std::vector<char> buffer(static_cast<std::size_t>(bytes) + 1);
    double trip_s = 0.0;
    for (int i = 0; i < 2 && rank < 2; ++i) {
        const double begin_s = MPI_Wtime();
        if (rank == 0) MPI_Send(buffer.data(), bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
        MPI_Recv(buffer.data(), bytes, MPI_BYTE, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(buffer.data(), bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        trip_s = MPI_Wtime() - begin_s;
    }
    MPI_Bcast(&trip_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return 0.5 * trip_s;
}

TEST(SimulatedPingPong, TakesWhatOneMessageTakesOnThePlatform) {
    const auto pingpong = operation_named("pingpong");
    for (const int bytes : {0, 1, 1000, 65536, 1'000'000}) {
        const double found_s =
            median_s(pingpong.get(), static_cast<std::uint64_t>(bytes), fixed_repetitions(5));

        EXPECT_NEAR(found_s / message_s(bytes), 1.0, 0.05) << bytes << " bytes";
    }
}

TEST(SimulatedPingPong, IsNeverFasterThanTheLinks) {
    const auto pingpong = operation_named("pingpong");

    EXPECT_GE(median_s(pingpong.get(), 0, fixed_repetitions(3)), 100e-6);
    EXPECT_GE(median_s(pingpong.get(), 1'250'000, fixed_repetitions(3)), 10e-3);
}

TEST(SimulatedScatter, TakesTheSameByEveryTimingMethod) {
    const Operation scatter(lw_operation_scatter(linear_scatter));
    auto options = fixed_repetitions(5);
    const double longest_s = median_s(scatter.get(), 65536, options);
    for (const auto timing : {LW_TIMING_ROOT, LW_TIMING_GLOBAL, LW_TIMING_TASKS}) {
        options.timing = timing;

        EXPECT_NEAR(median_s(scatter.get(), 65536, options) / longest_s, 1.0, 0.05)
            << "timing method " << timing;
    }
}

// A linear scatter leaves the root by one link, so blocks follow one another.
TEST(SimulatedScatter, TakesAtLeastWhatTheRootsLinkAllows) {
    const Operation scatter(lw_operation_scatter(linear_scatter));
    const double bytes = 65536.0 * (size_of(MPI_COMM_WORLD) - 1);

    EXPECT_GE(median_s(scatter.get(), 65536, fixed_repetitions(3)), bytes / 125e6);
}

TEST(SimulatedPairs, AreTheSameInParallelAndOneByOne) {
    const auto parallel = measure_pairs(LW_ORDER_PARALLEL);
    const auto sequential = measure_pairs(LW_ORDER_SEQUENTIAL);

    ASSERT_EQ(parallel.medians_s.size(), sequential.medians_s.size());
    for (std::size_t i = 0; i < parallel.medians_s.size(); ++i) {
        EXPECT_NEAR(parallel.medians_s[i] / sequential.medians_s[i], 1.0, 0.01) << "pair " << i;
    }
}

TEST(SimulatedPairs, InParallelSaveMostOfTheTime) {
    if (size_of(MPI_COMM_WORLD) < 8) GTEST_SKIP() << "fewer than four pairs at a time";

    const auto parallel = measure_pairs(LW_ORDER_PARALLEL);
    const auto sequential = measure_pairs(LW_ORDER_SEQUENTIAL);

    EXPECT_GE(sequential.elapsed_s / parallel.elapsed_s, 3.5);
}

TEST(SimulatedRepetition, StopsEarlyWhereNothingVaries) {
    const auto bcast = operation_named("bcast");
    const lw_measure_options options = LW_MEASURE_OPTIONS;
    const std::uint64_t bytes = 1024;
    lw_samples *raw = nullptr;
    ASSERT_EQ(lw_measure(MPI_COMM_WORLD, bcast.get(), 0, &bytes, 1, &options, &raw), LW_OK);
    const Samples samples(raw);
    lw_point point = LW_POINT;

    ASSERT_EQ(lw_samples_point(raw, 0, &point), LW_OK);

    EXPECT_EQ(point.stop, LW_STOP_INTERVAL);
    EXPECT_EQ(point.repetitions, 2 * options.repetitions_min);
}

}  // namespace
}  // namespace lanewise::measure
