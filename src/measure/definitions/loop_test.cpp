// SPDX-License-Identifier: BSD-3-Clause
//
// Which MPI calls a loop makes, in which order: `b` a barrier, `t` a reading of the
// clock, `o` an execution of the operation; `s` the start of a nonblocking one, `w`
// its wait; of a window `x` a lock that keeps others out, `g` MPI_Get_accumulate, `u`
// the unlock, `P` the post, `S` the start, `p` a put, `C` the completion, `W` its wait.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "measure/bench.hpp"
#include "measure/definitions/definition.hpp"
#include "testing/measuring.hpp"

namespace {

std::string calls;
double tick_s = 0.0; /* where it is set, how much later each reading of the clock is */
int ticks = 0;

}  // namespace

extern "C" int MPI_Barrier(MPI_Comm comm) {
    calls += 'b';
    return PMPI_Barrier(comm);
}

extern "C" double MPI_Wtime() {
    calls += 't';
    return tick_s > 0.0 ? tick_s * ticks++ : PMPI_Wtime();
}

extern "C" int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                          MPI_Request *request) {
    calls += 's';
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

extern "C" int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    calls += 's';
    return PMPI_Ibarrier(comm, request);
}

// With the root that is called.
extern "C" int MPI_Ireduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                           int root, MPI_Comm comm, MPI_Request *request) {
    calls += std::to_string(root);
    return PMPI_Ireduce(send, receive, count, type, op, root, comm, request);
}

extern "C" int MPI_Start(MPI_Request *request) {
    calls += 's';
    return PMPI_Start(request);
}

extern "C" int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    calls += 'w';
    return PMPI_Wait(request, status);
}

extern "C" int MPI_Win_lock(int type, int rank, int assertion, MPI_Win window) {
    calls += type == MPI_LOCK_EXCLUSIVE ? 'x' : '?';
    return PMPI_Win_lock(type, rank, assertion, window);
}

extern "C" int MPI_Win_unlock(int rank, MPI_Win window) {
    calls += 'u';
    return PMPI_Win_unlock(rank, window);
}

extern "C" int MPI_Get_accumulate(const void *send, int send_count, MPI_Datatype send_type,
                                  void *result, int result_count, MPI_Datatype result_type,
                                  int target, MPI_Aint place, int target_count,
                                  MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
    calls += target_type == MPI_CHAR ? 'g' : '?';
    return PMPI_Get_accumulate(send, send_count, send_type, result, result_count, result_type,
                               target, place, target_count, target_type, op, window);
}

extern "C" int MPI_Win_post(MPI_Group group, int assertion, MPI_Win window) {
    calls += 'P';
    return PMPI_Win_post(group, assertion, window);
}

extern "C" int MPI_Win_start(MPI_Group group, int assertion, MPI_Win window) {
    calls += 'S';
    return PMPI_Win_start(group, assertion, window);
}

extern "C" int MPI_Put(const void *send, int count, MPI_Datatype type, int target, MPI_Aint place,
                       int target_count, MPI_Datatype target_type, MPI_Win window) {
    calls += 'p';
    return PMPI_Put(send, count, type, target, place, target_count, target_type, window);
}

extern "C" int MPI_Win_complete(MPI_Win window) {
    calls += 'C';
    return PMPI_Win_complete(window);
}

extern "C" int MPI_Win_wait(MPI_Win window) {
    calls += 'W';
    return PMPI_Win_wait(window);
}

namespace lanewise::measure {
namespace {

int execute(void *) {
    calls += 'o';
    return 0;
}

/* Takes a thousand readings of the clock. */
int execute_slowly(void *self) {
    ticks += 1000;
    return execute(self);
}

/* Fails on rank 0, each time. */
int execute_in_vain(void *self) {
    execute(self);
    return testing::rank_of(MPI_COMM_WORLD) == 0 ? 1 : 0;
}

testing::Operation listed(int (*executes)(void *) = execute) {
    const lw_operation_callbacks callbacks{.struct_size = sizeof callbacks,
                                           .name = "listed",
                                           .setup = nullptr,
                                           .execute = executes,
                                           .teardown = nullptr,
                                           .context = nullptr};
    lw_operation *operation = nullptr;
    lw_operation_user(&callbacks, &operation);
    return testing::Operation(operation);
}

std::ptrdiff_t executions() {
    return std::count(calls.begin(), calls.end(), 'o');
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

// Other ranks wait for what this one sends.
TEST(Loop, CallsWhatFailsOnARankToItsEnd) {
    const auto custom = listed(execute_in_vain);
    const Harness harness(MPI_COMM_WORLD);
    auto running = Running::create(*custom, harness.comm(), 0, 8);
    calls.clear();

    const auto times =
        run_loop(harness, *running, loop_of("osu", "allreduce"), {.warm_up = 1, .timed = 2}, 1);

    EXPECT_TRUE(times.failed);
    EXPECT_EQ(calls, "bobtotbtotb");
}

// Otherwise a rank that need not wait for the others would time less than the collective.
TEST(Overlap, LetsTheRanksMeetBeforeEachTimeOfTheCollectiveAlone) {
    const auto operation = testing::operation_named("overlapped_ibcast");
    const Harness harness(MPI_COMM_WORLD);
    auto running = Running::create(*operation, harness.comm(), 0, 8);
    calls.clear();

    EXPECT_EQ(running->prepare(), 0);

    EXPECT_EQ(calls, "bswbswbswbswbswbswbsw");
}

/* Two calls of a loop of an operation of the MPI, which are warmed up by one. */
LoopTimes times_of(const std::string& definition, const std::string& name) {
    const auto operation = testing::operation_named(name.c_str());
    lw_operation_window(operation.get(), 3);
    const Harness harness(MPI_COMM_WORLD);
    const Loop& loop = loop_of(definition, name);
    auto running = Running::create(*operation, harness.comm(), 0, 8, plain_buffers, loop.manner);
    EXPECT_EQ(running->prepare(), 0);
    calls.clear();
    const auto times = run_loop(harness, *running, loop, {.warm_up = 1, .timed = 2}, 1);
    EXPECT_FALSE(times.failed);
    return times;
}

/* Blanks in `expected` tell its parts apart. What the harness calls to sum up comes last. */
void expect_calls(std::string expected) {
    std::erase(expected, ' ');
    EXPECT_EQ(calls.substr(0, expected.size()), expected);
}

TEST(Loop, OfAnOverlapOfImbIsTheCollectiveAloneAndThenWithTheClockReadAroundItsWork) {
    times_of("imb", "overlapped_ibcast");

    expect_calls(
        "b tswtb "
        "b tsttwtb "
        "b tswtb tswtb "
        "b tsttwtb tsttwtb");
}

TEST(Loop, OfAnOverlapOfTheBarrierOfImbReadsTheClockAroundAllAndNeverMeets) {
    times_of("imb", "overlapped_ibarrier");

    expect_calls(
        "b tswt "
        "b tsttwt "
        "b tswswt "
        "b tsttwsttwt");
    EXPECT_EQ(calls_of("imb", "ibarrier"), "botoot");
}

TEST(Loop, OfAnOverlapOfTheReductionOfImbHasAnotherRootInEachCallWithWork) {
    times_of("imb", "overlapped_ireduce");

    const std::string second = std::to_string(1 % testing::size_of(MPI_COMM_WORLD));
    expect_calls("b t0wtb  b t0ttwtb  b t0wtb t0wtb  b t0ttwtb t" + second + "ttwtb");
}

// A rank that waits reads the clock once, and around the work once more.
TEST(Loop, OfAnOverlapOfImbGivesTheTimesOfTheRankThatTakesLongest) {
    const int ranks = testing::size_of(MPI_COMM_WORLD);
    tick_s = 1e-6 * (1 + testing::rank_of(MPI_COMM_WORLD));

    const auto times = times_of("imb", "overlapped_ibcast");
    tick_s = 0.0;

    const double longest_s = 1e-6 * ranks;
    EXPECT_NEAR(times.pure_s.front(), longest_s, 1e-12);
    EXPECT_NEAR(times.work_s.front(), longest_s, 1e-12);
    EXPECT_NEAR(times.shown_s.front(), 2 * longest_s, 1e-12);
    EXPECT_NEAR(times.least_s.front(), 2e-6, 1e-12);
    EXPECT_NEAR(times.most_s.front(), 2 * longest_s, 1e-12);
}

TEST(Loop, OfAnOverlapWorksForAsLongAsTheOperationTookAlone) {
    constexpr double alone_s = 1e-2;
    const auto clock = monotonic_clock();
    tick_s = alone_s;

    const double begin_s = clock.now_s();
    times_of("imb", "overlapped_ibcast");
    const double elapsed_s = clock.now_s() - begin_s;
    tick_s = 0.0;

    constexpr int works = 5; /* one more each in the warm-up and before the calls that count */
    EXPECT_GT(elapsed_s, works * alone_s / 2);
}

TEST(Loop, OfOsuMultiLatMeetsBetweenRoundTrips) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";

    EXPECT_EQ(calls_of("osu", "pairs_pingpong"), "bobtotbtotb");
    EXPECT_EQ(loop_of("osu", "pairs_pingpong").across, Across::senders);
}

TEST(Loop, OfOsuLatencyPersistentStartsAndWaitsForTheSendAndThenForTheReceive) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";

    times_of("osu", "persistent_pingpong");

    expect_calls("b swsw tswswt tswswt");
}

TEST(Loop, OfOsuGetAccLatencyLocksTheWindowForItselfForEachSumOfChars) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";

    times_of("osu", "get_accumulate_lock");

    const bool origin = testing::rank_of(MPI_COMM_WORLD) == 0;
    expect_calls(origin ? "b xgu t txgut txgut t" : "b t tt tt t");
    EXPECT_FALSE(loop_of("osu", "get_accumulate_lock").manner.allocates);
}

TEST(Loop, OfOsuPutBibwPostsAndStartsBeforeItsWindowAndCompletesAndWaitsBehindIt) {
    if (testing::size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";

    times_of("osu", "put_streaming_both_pscw");

    expect_calls("b PSpppCW t tPSpppCWt tPSpppCWt t");
    EXPECT_TRUE(loop_of("osu", "put_streaming_both_pscw").manner.allocates);
    EXPECT_EQ(loop_of("osu", "put_streaming_both_pscw").calls(8, 0.0).timed, 100U);
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
        EXPECT_EQ(definition->loop_of("overlapped_iscan"), nullptr) << definition->name;
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

/* A loop of one call. */
constexpr Loop single{.calls = [](std::uint64_t, double) { return Calls{}; }};
constexpr std::ptrdiff_t whole_probe = 1 + 5 * 25;

// How many calls of a second each are made to learn how long they take.
std::ptrdiff_t probed_calls(double room_s) {
    const auto custom = listed(execute_slowly);
    const Harness harness(MPI_COMM_WORLD);
    auto running = Running::create(*custom, harness.comm(), 0, 8);
    calls.clear();
    tick_s = 1e-3;

    const auto probed = probe(harness, *running, single, room_s);
    tick_s = 0.0;

    EXPECT_FALSE(probed.failed);
    EXPECT_NEAR(probed.call_s, 1.0, 0.01);
    return executions();
}

TEST(Probe, EndsWhereItsTimeDoesButMakesOneCall) {
    EXPECT_EQ(probed_calls(0.0), whole_probe);
    EXPECT_EQ(probed_calls(1000.0), whole_probe);
    EXPECT_EQ(probed_calls(10.5), 10);
    EXPECT_EQ(probed_calls(0.5), 1);
}

Result<std::vector<Measured>> measured_by(const lw_operation& operation, std::uint64_t bytes,
                                          const Loop& loop, const lw_measure_options& options) {
    Bench bench(MPI_COMM_WORLD, options);
    const Point points[] = {{&operation, 0, bytes, &loop}};
    return bench.measure(points);
}

TEST(Loop, IsProbedOnceForAllBatchesOfAPoint) {
    const auto custom = listed();
    auto options = testing::fixed_repetitions(2);
    options.repetitions_max = 4;
    options.time_limit_s = 0.0;
    calls.clear();

    const auto measured = measured_by(*custom, 8, single, options);

    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->front().point.batch_count, 2U);
    EXPECT_EQ(executions(), 2 + whole_probe + 4); /* a call warms up each batch */
}

TEST(Loop, OfOsuReduceScatterIsShorterWhereTheVectorOfAllRanksIsLarge) {
    const auto operation = testing::operation_named("reduce_scatter");
    const auto& loop = loop_of("osu", "reduce_scatter");

    const auto measured = measured_by(*operation, 8192, loop, testing::fixed_repetitions(1));

    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->front().calls, testing::size_of(MPI_COMM_WORLD) > 1 ? 100U : 1000U);
}

// As many floats can be counted.
TEST(Loop, OfOsuRefusesMoreCharsThanCanBeCounted) {
    const auto operation = testing::operation_named("allreduce");
    const auto& loop = loop_of("osu", "allreduce");

    const auto measured =
        measured_by(*operation, std::uint64_t{1} << 31, loop, testing::fixed_repetitions(1));

    ASSERT_FALSE(measured);
    EXPECT_EQ(measured.failure().status, LW_ERR_LIMIT);
    EXPECT_THAT(measured.failure().sentence, ::testing::HasSubstr("exceeds INT_MAX chars"));
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
