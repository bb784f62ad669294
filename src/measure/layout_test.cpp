// SPDX-License-Identifier: BSD-3-Clause
//
// Where the messages of a measurement lie, seen by the operation itself: a
// broadcast of the user's that keeps the address it is given and times the walk
// through it.

#include <lanewise/measure.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::fixed_repetitions;

constexpr std::uint64_t message_bytes = 256 << 10;

struct Seen {
    std::vector<std::uintptr_t> addresses;
    std::vector<double> walks_s;  /* the first of each repetition */
    std::vector<double> cached_s; /* the second, through the same lines */
};
Seen seen;

// Each load waits for the one before it, and the lines follow each other as drawn by lot (a linear
// congruence of full period), so that none is fetched ahead.
double walk_s(const unsigned char *bytes, std::size_t count) {
    const std::size_t lines = count / 64; /* a power of 2 */
    const auto begin = std::chrono::steady_clock::now();
    std::size_t line = 0;
    for (std::size_t i = 0; i < lines; ++i) {
        line = (1664525 * line + 1013904223 + bytes[64 * line]) % lines;
    }
    asm volatile("" ::"r"(line));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int watching_bcast(void *buffer, int count, MPI_Datatype, int, MPI_Comm) {
    seen.addresses.push_back(reinterpret_cast<std::uintptr_t>(buffer));
    const auto *bytes = static_cast<const unsigned char *>(buffer);
    seen.walks_s.push_back(walk_s(bytes, static_cast<std::size_t>(count)));
    seen.cached_s.push_back(walk_s(bytes, static_cast<std::size_t>(count)));
    return MPI_SUCCESS;
}

lw_status measure_watched(const lw_measure_options& options) {
    seen = {};
    const testing::Operation watching(lw_operation_bcast(watching_bcast));
    lw_samples *raw = nullptr;
    const auto status =
        lw_measure(MPI_COMM_WORLD, watching.get(), 0, &message_bytes, 1, &options, &raw);
    lw_samples_free(raw);
    return status;
}

TEST(Layout, OfOneBufferIsTheSameEachTimeAndAligned) {
    ASSERT_EQ(measure_watched(fixed_repetitions(9)), LW_OK);

    EXPECT_EQ(std::set(seen.addresses.begin(), seen.addresses.end()).size(), 1u);
    EXPECT_EQ(seen.addresses.front() % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 0u);
}

TEST(Layout, OfRotatingBuffersHasEachInTurn) {
    auto options = fixed_repetitions(9);
    options.buffers.rotating_sets = 3;

    ASSERT_EQ(measure_watched(options), LW_OK);

    EXPECT_EQ(std::set(seen.addresses.begin(), seen.addresses.end()).size(), 3u);
    for (std::size_t i = 3; i < seen.addresses.size(); ++i) {
        EXPECT_EQ(seen.addresses[i], seen.addresses[i - 3]);
        EXPECT_NE(seen.addresses[i], seen.addresses[i - 1]);
    }
}

TEST(Layout, OfUnalignedBuffersIsOffEveryPage) {
    auto options = fixed_repetitions(4);
    options.buffers.rotating_sets = 2;
    options.buffers.offset_bytes = 3;

    ASSERT_EQ(measure_watched(options), LW_OK);

    for (const auto address : seen.addresses) {
        EXPECT_EQ(address % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 3u);
    }
}

// Under the sanitizers what is checked at each load takes longer than the load.
#ifndef LANEWISE_SANITIZES_ADDRESSES
// What else runs makes some walks longer and none shorter.
double shortest(const std::vector<double>& walks_s) {
    return *std::min_element(walks_s.begin(), walks_s.end());
}

// A walk through lines in the caches takes a tenth of one through memory, where nobody else takes
// the caches while it lasts.
TEST(Layout, OfColdBuffersIsColdInEveryRepetition) {
    auto options = fixed_repetitions(21);
    options.buffers.caches = LW_CACHES_COLD;

    ASSERT_EQ(measure_watched(options), LW_OK);

    EXPECT_GT(shortest(seen.walks_s), 2 * shortest(seen.cached_s));
}
#endif

TEST(Layout, OfUserOperationsIsTheirOwn) {
    lw_operation_callbacks callbacks{};
    callbacks.struct_size = sizeof callbacks;
    callbacks.name = "mine";
    callbacks.execute = [](void *) { return 0; };
    lw_operation *raw = nullptr;
    ASSERT_EQ(lw_operation_user(&callbacks, &raw), LW_OK);
    const testing::Operation mine(raw);
    auto options = fixed_repetitions(2);
    options.buffers.rotating_sets = 2;
    lw_samples *samples = nullptr;

    const auto status =
        lw_measure(MPI_COMM_WORLD, mine.get(), 0, &message_bytes, 1, &options, &samples);

    EXPECT_EQ(status, LW_ERR_UNSUPPORTED);
}

TEST(Layout, OfFloatsIsAMultipleOfThem) {
    const auto sum = testing::operation_named("allreduce");
    auto options = fixed_repetitions(2);
    options.buffers.offset_bytes = 1;
    lw_samples *samples = nullptr;

    EXPECT_EQ(lw_measure(MPI_COMM_WORLD, sum.get(), 0, &message_bytes, 1, &options, &samples),
              LW_ERR_ARGUMENT);
}

TEST(Layout, OfPairsIsTheHarnesss) {
    auto options = fixed_repetitions(2);
    options.buffers.pages = LW_PAGES_HUGE;
    lw_samples *samples = nullptr;

    EXPECT_EQ(lw_measure_pairs(MPI_COMM_WORLD, 8, 8, LW_ORDER_PARALLEL, &options, &samples),
              testing::size_of(MPI_COMM_WORLD) < 2 ? LW_ERR_ARGUMENT : LW_ERR_UNSUPPORTED);
}

}  // namespace
}  // namespace lanewise::measure
