// SPDX-License-Identifier: BSD-3-Clause
//
// A budget in simulated time: eight hosts on one switch (switched.xml), where a size of some MiB
// takes longer than all smaller ones together. A session ends before its budget does, having
// measured what it could.

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/bench.hpp"
#include "testing/measuring.hpp"
#include "tune/session.hpp"

namespace lanewise::tune {
namespace {

const std::vector<std::uint64_t> sizes_bytes = {64, 1024, 16384, 262144, 4194304};

Task task_at(std::uint64_t message_bytes, Task::Kind kind, int& measured) {
    const auto *slow = collectives::find_algorithm(collectives::Collective::bcast, "linear");
    return {.key = "bcast " + std::to_string(message_bytes),
            .collective = "bcast",
            .message_bytes = message_bytes,
            .rooted = true,
            .kind = kind,
            .contenders =
                [=](FirstLook) {
                    return std::vector<Contender>{
                        {"default", default_implementation("bcast"), 0, false},
                        {"linear", algorithm_implementation(*slow, 0, 1), 0, false}};
                },
            .record = [&measured](const Verdict&) -> Json {
                ++measured;
                return {{"record", "point"}};
            }};
}

struct Taken {
    double elapsed_s = 0.0;
    int measured = 0;
};

void prepare_for_largest(measure::Bench& bench) {
    lw_operation bcast;
    bcast.name = "bcast";
    bcast.entry = measure::find_entry("bcast");
    const measure::Point largest{&bcast, 0, sizes_bytes.back()};
    EXPECT_TRUE(bench.prepare({&largest, 1}));
}

Taken run_within(double budget_s, Task::Kind kind) {
    SessionOptions settings;
    settings.budget_s = budget_s;
    settings.rule.repetitions_max = 100;
    measure::Bench bench(MPI_COMM_WORLD, settings.measure_options());
    prepare_for_largest(bench);
    Taken taken;
    std::vector<Task> tasks;
    for (const auto bytes : sizes_bytes) tasks.push_back(task_at(bytes, kind, taken.measured));
    const double begin_s = MPI_Wtime();
    EXPECT_TRUE(run_session(bench, settings, "test", tasks));
    taken.elapsed_s = MPI_Wtime() - begin_s;
    MPI_Allreduce(MPI_IN_PLACE, &taken.elapsed_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return taken;
}

class Budget : public ::testing::TestWithParam<double> {};

TEST_P(Budget, IsNotExceededByTheLastSize) {
    for (const auto kind : {Task::Kind::compared, Task::Kind::confirmed}) {
        const auto taken = run_within(GetParam(), kind);

        EXPECT_LE(taken.elapsed_s, GetParam());
        EXPECT_GE(taken.measured, 1);
        EXPECT_LT(taken.measured, static_cast<int>(sizes_bytes.size()));
    }
}

INSTANTIATE_TEST_SUITE_P(, Budget, ::testing::Values(0.1, 0.3, 0.6, 1.0));

/* Contenders of which each promises a bit more than the one before it, and runs the same. */
std::vector<Contender> ten_contenders() {
    const auto *slow = collectives::find_algorithm(collectives::Collective::bcast, "linear");
    std::vector<Contender> contenders = {{"default", default_implementation("bcast"), 0, false}};
    for (int i = 0; i < 10; ++i) {
        contenders.push_back({"linear", algorithm_implementation(*slow, 0, 1), 0, false, 10.0 - i});
    }
    return contenders;
}

struct Look {
    Taken taken;
    std::vector<std::size_t> repetitions; /* of each contender, where the size was measured */
};

Look look_at_one_large_size(double budget_s) {
    SessionOptions settings;
    settings.budget_s = budget_s;
    measure::Bench bench(MPI_COMM_WORLD, settings.measure_options());
    prepare_for_largest(bench);
    Look look;
    auto task = task_at(sizes_bytes.back(), Task::Kind::compared, look.taken.measured);
    task.contenders = [](FirstLook) { return ten_contenders(); };
    task.record = [&look](const Verdict& verdict) -> Json {
        ++look.taken.measured;
        for (const auto& one : verdict.compared) look.repetitions.push_back(one.repetitions);
        return {{"record", "point"}};
    };
    const double begin_s = MPI_Wtime();
    EXPECT_TRUE(run_session(bench, settings, "test", {task}));
    look.taken.elapsed_s = MPI_Wtime() - begin_s;
    MPI_Allreduce(MPI_IN_PLACE, &look.taken.elapsed_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return look;
}

class BudgetOfALargeSize : public ::testing::TestWithParam<double> {};

TEST_P(BudgetOfALargeSize, IsNotExceeded) {
    const auto look = look_at_one_large_size(GetParam());

    EXPECT_LE(look.taken.elapsed_s, GetParam());
    ASSERT_EQ(look.taken.measured, 1);
    ASSERT_EQ(look.repetitions.size(), 11u);
    EXPECT_GE(look.repetitions.front(), 1u);
}

INSTANTIATE_TEST_SUITE_P(, BudgetOfALargeSize, ::testing::Values(4.0, 8.0, 16.0, 32.0));

TEST(LargeSize, LeavesOutWhatPromisesLeastFirst) {
    const auto look = look_at_one_large_size(4.0);

    ASSERT_EQ(look.repetitions.size(), 11u);
    EXPECT_EQ(look.repetitions[1], 0u);
    EXPECT_TRUE(std::is_sorted(look.repetitions.begin() + 1, look.repetitions.end()));
    EXPECT_GE(look.repetitions.back(), 1u);
}

TEST(LargeSize, IsNotMeasuredWhereTheBudgetHasNoTimeForAnyCandidate) {
    EXPECT_EQ(look_at_one_large_size(0.1).taken.measured, 0);
}

TEST(NoBudget, EndsNothing) {
    EXPECT_EQ(run_within(0.0, Task::Kind::compared).measured, static_cast<int>(sizes_bytes.size()));
}

}  // namespace
}  // namespace lanewise::tune
