// SPDX-License-Identifier: BSD-3-Clause
//
// Every algorithm that is listed against the MPI's own: random counts, types,
// roots, segments and MPI_IN_PLACE, the same on every rank by one seed. Buffers
// are compared whole, so that a byte written outside what MPI allows is seen.

#include <gtest/gtest.h>

#include <random>

#include "collectives/execute/execute.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/execute/testing/calls.hpp"

namespace lanewise::collectives {
namespace {

using testing::Trial;

constexpr int trials = 12;

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm *> {};

TEST_P(EveryAlgorithm, gives_what_the_mpi_gives) {
    const Algorithm& algorithm = *GetParam();
    for (unsigned seed = 0; seed < trials; ++seed) {
        Trial trial(algorithm.collective, seed, MPI_COMM_WORLD);
        if (!refusal(algorithm, trial.traits()).empty()) continue;
        const auto expected = trial.by_the_mpi();

        bool served = false;
        const Choice choice{&algorithm, trial.segment_bytes(), 1};
        const auto given =
            trial.by([&](const Call& call) { return execute(call, choice, served); });

        ASSERT_TRUE(served) << trial.describe();
        ASSERT_EQ(given, expected) << algorithm.name << ": " << trial.describe();
    }
}

TEST_P(EveryAlgorithm, gives_the_same_without_waiting) {
    const Algorithm& algorithm = *GetParam();
    for (unsigned seed = 100; seed < 100 + trials; ++seed) {
        Trial trial(algorithm.collective, seed, MPI_COMM_WORLD);
        if (!refusal(algorithm, trial.traits()).empty()) continue;
        const auto expected = trial.by_the_mpi();

        bool served = false;
        const auto given = trial.by([&](const Call& call) {
            PendingCall pending;
            const int code = start(call, {&algorithm, trial.segment_bytes(), 1}, served, pending);
            return served && code == MPI_SUCCESS ? wait(*pending) : code;
        });

        ASSERT_EQ(served, !shares_counts(algorithm)) << trial.describe();
        if (!served) continue;
        ASSERT_EQ(given, expected) << algorithm.name << ": " << trial.describe();
    }
}

// Segments and the memory that a call may use are told in bytes, and schedules count in elements.
TEST(Reductions, count_in_elements_of_which_each_has_the_bytes_of_its_data) {
    CommunicatorState state;
    state.rank = 0;
    state.ranks = 1;
    for (const auto type : {MPI_CHAR, MPI_FLOAT, MPI_DOUBLE}) {
        double sent[3] = {};
        double received[3] = {};
        const Call call{.collective = Collective::allreduce,
                        .send = sent,
                        .receive = received,
                        .receive_count = 3,
                        .receive_type = type,
                        .op = MPI_SUM,
                        .comm = MPI_COMM_WORLD};
        Arrangement arrangement;
        int type_bytes = 0;
        MPI_Type_size(type, &type_bytes);

        ASSERT_EQ(arrange(call, state, arrangement), MPI_SUCCESS);

        EXPECT_EQ(arrangement.unit_bytes, type_bytes);
        EXPECT_EQ(arrangement.count, 3);
    }
}

std::string name(const ::testing::TestParamInfo<const Algorithm *>& info) {
    return std::string(name_of(info.param->collective)) + "_" + info.param->name;
}

INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm, ::testing::ValuesIn(algorithms()), name);

}  // namespace
}  // namespace lanewise::collectives
