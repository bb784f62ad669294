// SPDX-License-Identifier: BSD-3-Clause
//
// A budget in simulated time: eight hosts on one switch (switched.xml), where a size of some MiB
// takes longer than all smaller ones together. A session ends before its budget does, having
// measured what it could.

#include <gtest/gtest.h>

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
                [=] {
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

Taken run_within(double budget_s, Task::Kind kind) {
    SessionOptions settings;
    settings.budget_s = budget_s;
    settings.rule.repetitions_max = 100;
    measure::Bench bench(MPI_COMM_WORLD, settings.measure_options());
    lw_operation bcast;
    bcast.name = "bcast";
    bcast.entry = measure::find_entry("bcast");
    const measure::Point largest{&bcast, 0, sizes_bytes.back()};
    EXPECT_TRUE(bench.prepare({&largest, 1}));
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

TEST(NoBudget, EndsNothing) {
    EXPECT_EQ(run_within(0.0, Task::Kind::compared).measured, static_cast<int>(sizes_bytes.size()));
}

}  // namespace
}  // namespace lanewise::tune
