// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that may use few processors, on hosts of which there only seem to be two: all are on this
// one.

#include "measure/bench.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <memory>

#include "base/control_groups.hpp"
#include "testing/measuring.hpp"

namespace {
bool is_bound = false; /* this rank seems to be bound to these processors of this host */
std::size_t first_cpu = 0;
std::size_t last_cpu = 0;
int seeming_host = 0;
}  // namespace

// Stands before the system's own.
extern "C" int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) noexcept {
    static const auto own = reinterpret_cast<int (*)(pid_t, size_t, cpu_set_t *)>(
        dlsym(RTLD_NEXT, "sched_getaffinity"));
    if (!is_bound) return own(process, bytes, set);
    CPU_ZERO_S(bytes, set);
    for (auto cpu = first_cpu; cpu <= last_cpu; ++cpu) CPU_SET_S(cpu, bytes, set);
    return 0;
}

extern "C" int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info,
                                   MPI_Comm *part) {
    if (!is_bound) return PMPI_Comm_split_type(comm, type, key, info, part);
    return PMPI_Comm_split(comm, seeming_host, key, part);
}

namespace lanewise::measure {
namespace {

using testing::rank_of;
using testing::size_of;

std::unique_ptr<Bench> bench_of_ranks_bound_to(std::size_t first, std::size_t last, int host = 0) {
    is_bound = true;
    first_cpu = first;
    last_cpu = last;
    seeming_host = host;
    auto bench = std::make_unique<Bench>(MPI_COMM_WORLD, testing::fixed_repetitions(1));
    is_bound = false;
    return bench;
}

// Whether a group that ranks of this test are in lets them keep fewer processors busy than they
// are. Collective.
bool is_throttled() {
    const auto quotas = cpu_quotas();
    int throttled = are_too_many(quotas, ranks_of_groups(quotas, MPI_COMM_WORLD)) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &throttled, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return throttled != 0;
}

// Those that sleep meet in a barrier of their own: whoever stayed away would never be met.
TEST(Bench, LetsAllRanksSleepWhereOneHostIsCrowded) {
    if (size_of(MPI_COMM_WORLD) < 3) GTEST_SKIP() << "needs two ranks on one host of two";
    if (is_throttled()) GTEST_SKIP() << "needs a processor for each rank, and has a quota of fewer";
    const bool crowded = rank_of(MPI_COMM_WORLD) < 2;

    const auto bench = bench_of_ranks_bound_to(0, crowded ? 0 : 99, crowded ? 0 : 1);

    EXPECT_EQ(bench->crowded(), crowded);
    EXPECT_FALSE(bench->harness().any(bench->waiting() == Waiting::awake));
}

TEST(Bench, KeepsAllRanksAwakeWhereEachMayUseAProcessorOfItsOwn) {
    if (is_throttled()) GTEST_SKIP() << "needs a processor for each rank, and has a quota of fewer";
    const auto rank = static_cast<std::size_t>(rank_of(MPI_COMM_WORLD));

    const auto bench = bench_of_ranks_bound_to(rank, rank);

    EXPECT_FALSE(bench->crowded());
    EXPECT_EQ(bench->waiting(), Waiting::awake);
}

TEST(Bench, IsCrowdedWhereRanksShareProcessorsOfWhichTheHostHasMore) {
    const bool several = size_of(MPI_COMM_WORLD) > 1;

    const auto bench = bench_of_ranks_bound_to(0, 0);

    EXPECT_EQ(bench->crowded(), several);
}

}  // namespace
}  // namespace lanewise::measure
