// SPDX-License-Identifier: BSD-3-Clause
//
// Which MPI calls a loop makes, in which order: `b` a barrier, `t` a reading of the
// clock, `o` an execution of the operation.

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "measure/definitions/definition.hpp"
#include "testing/measuring.hpp"

namespace {

std::string calls;

}  // namespace

extern "C" int MPI_Barrier(MPI_Comm comm) {
    calls += 'b';
    return PMPI_Barrier(comm);
}

extern "C" double MPI_Wtime() {
    calls += 't';
    return PMPI_Wtime();
}

namespace lanewise::measure {
namespace {

int execute(void *) {
    calls += 'o';
    return 0;
}

testing::Operation listed() {
    const lw_operation_callbacks callbacks{.struct_size = sizeof callbacks,
                                           .name = "listed",
                                           .setup = nullptr,
                                           .execute = execute,
                                           .teardown = nullptr,
                                           .context = nullptr};
    lw_operation *operation = nullptr;
    lw_operation_user(&callbacks, &operation);
    return testing::Operation(operation);
}

const Loop& loop_of(const std::string& definition, const std::string& operation) {
    for (const auto *one : definitions()) {
        if (definition == one->name) return *one->loop_of(operation);
    }
    ADD_FAILURE() << "no definition " << definition;
    static const Loop none;
    return none;
}

std::string calls_of(const std::string& definition, const std::string& operation) {
    const auto custom = listed();
    const Harness harness(MPI_COMM_WORLD);
    auto running = Running::create(*custom, harness.comm(), 0, 8);
    calls.clear();
    const Loop& loop = loop_of(definition, operation);
    const auto times = run_loop(harness, *running, loop, {.warm_up = 1, .timed = 2}, 1);
    EXPECT_FALSE(times.failed);
    EXPECT_LE(times.least_s.front(), times.shown_s.front());
    EXPECT_LE(times.shown_s.front(), times.most_s.front());
    return calls;
}

TEST(Loop, OfACollectiveOfOsuReadsTheClockAroundEachCallAndMeetsInBetween) {
    EXPECT_EQ(calls_of("osu", "allreduce"), "bobtotbtotb");
}

TEST(Loop, OfOsuLatencyReadsTheClockAroundEachRoundTripWithoutMeeting) {
    EXPECT_EQ(calls_of("osu", "pingpong"), "botottot");
}

TEST(Loop, OfOsuPutReadsTheClockAroundEachCallWithinTheTimeOfAll) {
    EXPECT_EQ(calls_of("osu", "put_flush"), "bottottott");
}

TEST(Loop, OfImbPingPongReadsTheClockAroundAllRoundTrips) {
    EXPECT_EQ(calls_of("imb", "pingpong"), "botoot");
}

TEST(Loop, OfACollectiveOfImbMeetsBetweenCallsExceptTheBarrierItself) {
    EXPECT_EQ(calls_of("imb", "bcast"), "bobtotbtotb");
    EXPECT_EQ(calls_of("imb", "barrier"), "botoot");
}

TEST(Loop, OfNetpipeIsThreeSeries) {
    EXPECT_EQ(calls_of("netpipe", "pingpong"), "botootbotootbotoot");
}

TEST(Loop, OfOsuIsShorterAboveEightKibibytes) {
    const auto counts = loop_of("osu", "bcast").calls;

    EXPECT_EQ(counts(8192, 0.0).warm_up, 100U);
    EXPECT_EQ(counts(8192, 0.0).timed, 1000U);
    EXPECT_EQ(counts(8193, 0.0).warm_up, 10U);
    EXPECT_EQ(counts(8193, 0.0).timed, 100U);
}

TEST(Loop, OfImbEndsAtFortyMebibytesOrTenSeconds) {
    const auto counts = loop_of("imb", "bcast").calls;

    EXPECT_EQ(counts(8, 1e-6).timed, 1000U);
    EXPECT_EQ(counts(8, 1e-6).warm_up, 100U);
    EXPECT_EQ(counts(65536, 1e-6).timed, 640U);
    EXPECT_EQ(counts(4 << 20, 1e-6).timed, 10U);
    EXPECT_EQ(counts(4 << 20, 1e-6).warm_up, 10U);
    EXPECT_EQ(counts(8, 0.1).timed, 100U);
    EXPECT_EQ(counts(8, 100.0).timed, 1U);
}

TEST(Loop, OfNetpipeLastsATenthOfASecond) {
    EXPECT_EQ(loop_of("netpipe", "pingpong").calls(8, 1e-4).timed, 1000U);
}

TEST(Loop, IsThereForOperationsOfTheToolOnly) {
    for (const auto *definition : definitions()) {
        EXPECT_EQ(definition->loop_of("partitioned"), nullptr) << definition->name;
        EXPECT_EQ(definition->loop_of(""), nullptr) << definition->name;
        EXPECT_EQ(definition->loop_of("overlapped_ibcast"), nullptr) << definition->name;
    }
    EXPECT_EQ(definitions().back()->loop_of("persistent_sendrecv"), nullptr);
}

TEST(Loop, OfOsuAddsCharsReceivesAWindowInOnePlaceAndLetsTheMpiAllocate) {
    EXPECT_TRUE(loop_of("osu", "allreduce").manner.adds_chars);
    EXPECT_FALSE(loop_of("imb", "allreduce").manner.adds_chars);
    EXPECT_TRUE(loop_of("osu", "streaming").manner.one_place);
    EXPECT_TRUE(loop_of("osu", "put_flush").manner.allocates);
    EXPECT_FALSE(loop_of("imb", "put_flush").manner.allocates);
}

TEST(Loop, InOnePlaceReceivesEveryMessageOfAWindowThere) {
    const auto stream = testing::operation_named("streaming");
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "streaming needs two ranks";
    auto running =
        Running::create(*stream, MPI_COMM_WORLD, 0, 8, plain_buffers, {.one_place = true});
    ASSERT_EQ(running->prepare(), 0);
    const auto place = running->next_buffers()[1];
    if (!place.empty()) place[8] = std::byte{77};
    running->execute();

    EXPECT_TRUE(place.empty() || place[8] == std::byte{77});
}

}  // namespace
}  // namespace lanewise::measure
