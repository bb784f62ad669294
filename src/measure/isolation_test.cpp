// SPDX-License-Identifier: BSD-3-Clause
//
// A measurement keeps to itself: it works on a duplicate of its communicator,
// leaves the program's own messages alone, needs no rank outside, and runs
// beside another one in a second thread.

#include <lanewise/measure.h>

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::Communicator;
using testing::fixed_repetitions;
using testing::operation_named;
using testing::rank_of;
using testing::Samples;
using testing::size_of;

lw_status measure_on(MPI_Comm comm, const char *name) {
    const auto operation = operation_named(name);
    const auto options = fixed_repetitions(5);
    const std::uint64_t bytes[2] = {0, 512};
    lw_samples *raw = nullptr;
    const auto status = lw_measure(comm, operation.get(), 0, bytes, 2, &options, &raw);
    const Samples samples(raw);
    return lw_samples_count(raw) == 2 ? status : LW_ERR_MPI;
}

// Tags that a measurement might itself use, and one that it does not.
constexpr std::array<int, 4> tags = {0, 1, 0x4c57, 12345};

TEST(Isolation, MessagesThatAreUnderWayArriveAfterwards) {
    const int next = (rank_of(MPI_COMM_WORLD) + 1) % size_of(MPI_COMM_WORLD);
    std::array<int, 4> sent{};
    std::array<MPI_Request, 4> requests{};
    for (std::size_t i = 0; i < tags.size(); ++i) {
        sent[i] = 100 * rank_of(MPI_COMM_WORLD) + static_cast<int>(i);
        MPI_Isend(&sent[i], 1, MPI_INT, next, tags[i], MPI_COMM_WORLD, &requests[i]);
    }

    EXPECT_EQ(measure_on(MPI_COMM_WORLD, "alltoall"), LW_OK);
    EXPECT_EQ(measure_on(MPI_COMM_WORLD, "scatter"), LW_OK);

    const int size = size_of(MPI_COMM_WORLD);
    const int before = (rank_of(MPI_COMM_WORLD) + size - 1) % size;
    for (std::size_t i = 0; i < tags.size(); ++i) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, before, tags[i], MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT_EQ(got, 100 * before + static_cast<int>(i));
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// A receive from anyone with any tag, posted before, must not catch the harness's messages.
TEST(Isolation, AReceiveThatWaitsForAnythingIsLeftWaiting) {
    int got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);

    EXPECT_EQ(measure_on(MPI_COMM_WORLD, "gather"), LW_OK);

    int arrived = 1;
    MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
    EXPECT_FALSE(arrived);
    MPI_Barrier(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    const int next = (rank_of(MPI_COMM_WORLD) + 1) % size;
    const int mine = rank_of(MPI_COMM_WORLD);
    MPI_Send(&mine, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, (mine + size - 1) % size);
}

// The other ranks wait in a barrier of the world: whoever touched the world would meet them there.
TEST(Isolation, RanksOutsideTheCommunicatorAreNotNeeded) {
    const bool member = rank_of(MPI_COMM_WORLD) % 2 == 0;
    const Communicator part(testing::split_of(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED));

    const auto status = member ? measure_on(part.get(), "allgather") : LW_OK;

    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(status, LW_OK);
}

TEST(Isolation, DisjointCommunicatorsMeasureAtTheSameTime) {
    const Communicator part(testing::split_of(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD) % 2));

    EXPECT_EQ(measure_on(part.get(), "bcast"), LW_OK);
}

TEST(Isolation, TheErrorHandlerOfTheCommunicatorIsKept) {
    const Communicator mine(testing::duplicate_of(MPI_COMM_WORLD));
    MPI_Comm_set_errhandler(mine.get(), MPI_ERRORS_ARE_FATAL);

    EXPECT_EQ(measure_on(mine.get(), "bcast"), LW_OK);

    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(mine.get(), &handler);
    EXPECT_EQ(handler, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

// Communicators are few in every MPI; one lost per call would end a long program.
TEST(Isolation, ManyCallsLoseNoCommunicator) {
    if (size_of(MPI_COMM_WORLD) > 2) GTEST_SKIP() << "two ranks show it as well";
    const auto operation = operation_named("barrier");
    auto options = fixed_repetitions(1);
    options.warmup_repetitions = 0;
    const std::uint64_t bytes = 0;
    for (int i = 0; i < 2500; ++i) {
        lw_samples *raw = nullptr;
        ASSERT_EQ(lw_measure(MPI_COMM_WORLD, operation.get(), 0, &bytes, 1, &options, &raw), LW_OK);
        lw_samples_free(raw);
    }
}

TEST(Isolation, TwoThreadsMeasureOnTwoCommunicators) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI does not allow several threads";
    const Communicator here(testing::duplicate_of(MPI_COMM_WORLD));
    const Communicator there(testing::duplicate_of(MPI_COMM_WORLD));
    lw_status status_there = LW_ERR_MPI;

    std::thread other([&] { status_there = measure_on(there.get(), "allreduce"); });
    const auto status_here = measure_on(here.get(), "bcast");
    other.join();

    EXPECT_EQ(status_here, LW_OK);
    EXPECT_EQ(status_there, LW_OK);
}

}  // namespace
}  // namespace lanewise::measure
