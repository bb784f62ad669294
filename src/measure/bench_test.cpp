// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks on hosts that have different numbers of processors, which only seem to: all are on this
// one.

#include "measure/bench.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "testing/measuring.hpp"

namespace {
long processors = 0; /* where it is set, those that this rank's host seems to have */
}

// Stands before the system's own.
extern "C" long sysconf(int name) noexcept {
    if (processors > 0 && name == _SC_NPROCESSORS_ONLN) return processors;
    static const auto own = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
    return own(name);
}

namespace lanewise::measure {
namespace {

// Those that sleep meet in a barrier of their own: whoever stayed away would never be met.
TEST(Bench, LetsAllRanksSleepWhereOneHostIsCrowded) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "one rank has nobody to wait for";
    const bool crowded = testing::rank_of(MPI_COMM_WORLD) == 0;
    processors = crowded ? 1 : 4096;

    const Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));
    processors = 0;

    EXPECT_EQ(bench.crowded(), crowded);
    EXPECT_FALSE(bench.harness().any(bench.waiting() == Waiting::awake));
}

TEST(Bench, KeepsAllRanksAwakeWhereNoHostIsCrowded) {
    processors = 4096;

    const Bench bench(MPI_COMM_WORLD, testing::fixed_repetitions(1));
    processors = 0;

    EXPECT_FALSE(bench.crowded());
    EXPECT_EQ(bench.waiting(), Waiting::awake);
}

}  // namespace
}  // namespace lanewise::measure
