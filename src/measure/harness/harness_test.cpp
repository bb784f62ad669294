// SPDX-License-Identifier: BSD-3-Clause
//
// The harness's own collectives. That a barrier separates is proved by shared
// memory, not by time: after round k every rank must see the arrivals of all
// in round k, while ranks dawdle by random amounts to provoke an early exit.

#include "measure/harness/harness.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <limits>
#include <new>
#include <random>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::Communicator;
using testing::duplicate_of;

/* A counter in memory that all ranks of this host share. */
class SharedCounter {
  public:
    SharedCounter() {
        const MPI_Aint bytes = testing::rank_of(MPI_COMM_WORLD) == 0 ? sizeof(Count) : 0;
        void *mine = nullptr;
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window_);
        if (bytes > 0) new (mine) Count(0);
        MPI_Aint theirs = 0;
        int unit = 0;
        void *shared = nullptr;
        MPI_Win_shared_query(window_, 0, &theirs, &unit, &shared);
        count_ = static_cast<Count *>(shared);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ~SharedCounter() { MPI_Win_free(&window_); }
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    void increment() { count_->fetch_add(1); }
    int value() const { return count_->load(); }

  private:
    using Count = std::atomic<int>;
    MPI_Win window_ = MPI_WIN_NULL;
    Count *count_ = nullptr;
};

void dawdle(std::mt19937_64& random) {
    for (auto left = random() % 20; left > 0; --left) sched_yield();
}

std::span<std::byte> bytes_of(std::vector<int>& values) {
    return std::as_writable_bytes(std::span(values));
}

TEST(Harness, KnowsItsRankAndSize) {
    const Harness harness(MPI_COMM_WORLD);

    EXPECT_EQ(harness.rank(), testing::rank_of(MPI_COMM_WORLD));
    EXPECT_EQ(harness.size(), testing::size_of(MPI_COMM_WORLD));
}

TEST(Harness, WorksOnADuplicate) {
    const Harness harness(MPI_COMM_WORLD);

    int relation = MPI_UNEQUAL;
    MPI_Comm_compare(harness.comm(), MPI_COMM_WORLD, &relation);

    EXPECT_EQ(relation, MPI_CONGRUENT);
}

// Whether `barrier` let no rank out before all were in, in any of `rounds`.
bool separates(const Harness& harness, void (Harness::*barrier)() const, int rounds) {
    SharedCounter arrived;
    std::mt19937_64 random(static_cast<std::uint64_t>(harness.rank()));
    bool always = true;
    for (int round = 1; round <= rounds; ++round) {
        dawdle(random);
        arrived.increment();
        (harness.*barrier)();
        const int seen = arrived.value();
        always = always && seen >= round * harness.size() && seen < (round + 1) * harness.size();
    }
    return always;
}

TEST(HarnessBarrier, LetsNoRankOutBeforeAllAreIn) {
    const Harness harness(MPI_COMM_WORLD);

    EXPECT_TRUE(separates(harness, &Harness::barrier, 100));
}

TEST(HarnessBarrier, LetsNoSleepingRankOutEither) {
    const Harness harness(MPI_COMM_WORLD);

    EXPECT_TRUE(separates(harness, &Harness::sleeping_barrier, 20));
}

TEST(HarnessAny, IsTrueOnEveryRankWhicheverRankSaysSo) {
    const Harness harness(MPI_COMM_WORLD);
    for (int who = 0; who < harness.size(); ++who) {
        EXPECT_TRUE(harness.any(harness.rank() == who)) << "rank " << who << " said so";
        EXPECT_FALSE(harness.any(false));
    }
}

TEST(HarnessBroadcast, BringsAnyLengthFromRankZero) {
    const Harness harness(MPI_COMM_WORLD);
    for (const std::size_t length : {0u, 1u, 2u, 1000u, 300'000u}) {
        std::vector<int> values(length, harness.rank() == 0 ? 7 : -1);

        harness.broadcast(bytes_of(values));

        EXPECT_EQ(values, std::vector<int>(length, 7));
    }
}

TEST(HarnessBroadcast, KeepsTheOrderOfSuccessiveValues) {
    const Harness harness(MPI_COMM_WORLD);
    for (int i = 0; i < 200; ++i) {
        int value = harness.rank() == 0 ? i : -1;

        harness.broadcast_value(value);

        ASSERT_EQ(value, i);
    }
}

TEST(HarnessMaximum, IsElementwiseOverAllRanks) {
    const Harness harness(MPI_COMM_WORLD);
    constexpr double low = -std::numeric_limits<double>::infinity();
    const int n = harness.size();
    // Element i is largest on rank i mod n; the last is minus infinity on all but the last rank.
    std::vector<double> values;
    for (int i = 0; i < 20; ++i) values.push_back(i % n == harness.rank() ? 100.0 + i : -i);
    values.push_back(harness.rank() == n - 1 ? -1e300 : low);

    harness.maximum(values);

    for (int i = 0; i < 20; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 100.0 + i);
    EXPECT_EQ(values.back(), -1e300);
}

TEST(HarnessMaximum, OfNothingIsNothing) {
    const Harness harness(MPI_COMM_WORLD);
    std::vector<double> none;

    harness.maximum(none);

    EXPECT_TRUE(none.empty());
}

TEST(HarnessCollect, GathersRowsOfDifferentLengthsOnEveryRank) {
    const Harness harness(MPI_COMM_WORLD);
    const std::vector<double> mine(static_cast<std::size_t>(harness.rank()), harness.rank());

    const auto all = harness.collect(mine);

    ASSERT_EQ(all.size(), static_cast<std::size_t>(harness.size()));
    for (std::size_t r = 0; r < all.size(); ++r) {
        EXPECT_EQ(all[r], std::vector<double>(r, static_cast<double>(r)));
    }
}

// A harness of a few ranks among many must not need the others.
TEST(Harness, NeedsOnlyTheRanksOfItsCommunicator) {
    const bool member = testing::rank_of(MPI_COMM_WORLD) % 2 == 0;
    const Communicator part(testing::split_of(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED));

    if (member) {
        const Harness harness(part.get());
        int value = harness.rank() == 0 ? 42 : 0;
        harness.broadcast_value(value);
        EXPECT_EQ(value, 42);
        EXPECT_FALSE(harness.any(false));
    }

    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(Harness, TurnsAnErrorOfTheMpiIntoAFailureThatNamesIt) {
    const Harness harness(MPI_COMM_WORLD);

    try {
        harness.send_value(1, harness.size());
        FAIL() << "a send beyond the last rank must fail";
    } catch (const MpiFailure& failure) {
        EXPECT_NE(std::string(failure.what()), "");
    }
}

}  // namespace
}  // namespace lanewise::measure
