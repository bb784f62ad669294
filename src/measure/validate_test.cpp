// SPDX-License-Identifier: BSD-3-Clause
//
// Validation finds every operation of the registry right, in any buffers, and
// notices what is wrong.

#include "measure/validate.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <set>
#include <vector>

#include "measure/testing/runnable.hpp"
#include "testing/measuring.hpp"

namespace lanewise::measure {
namespace {

using testing::operation_named;
using testing::runs_here;
using testing::size_of;

constexpr int window = 5;

TEST(Validation, FindsEveryOperationOfThisMpiRight) {
    const Harness harness(MPI_COMM_WORLD);
    for (const auto& entry : registry()) {
        if (!runs_here(entry)) continue;
        const auto operation = operation_named(entry.name);
        for (const std::uint64_t bytes : {4u, 4000u}) {
            const auto valid = validate(harness, *operation, 0, bytes);
            EXPECT_TRUE(valid) << (valid ? "" : valid.failure().sentence);
        }
    }
}

#ifdef MPICH_VERSION
// MPICH 4.0 over UCX moves the start of a window back to a multiple of so many bytes.
constexpr std::size_t into_page_bytes = 64;
#else
constexpr std::size_t into_page_bytes = 4;
#endif

TEST(Validation, FindsEveryOperationRightInOtherBuffers) {
    const Harness harness(MPI_COMM_WORLD);
    auto layout = plain_buffers;
    layout.rotating_sets = 3;
    layout.offset_bytes = into_page_bytes;
    for (const auto& entry : registry()) {
        if (!runs_here(entry)) continue;
        const auto operation = operation_named(entry.name);
        const auto valid = validate(harness, *operation, 0, 4000, layout);
        EXPECT_TRUE(valid) << (valid ? "" : valid.failure().sentence);
    }
}

// Delivers right the first time and late ever after.
int forgetful_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    static void *first = nullptr;
    if (!first) first = buffer;
    return buffer == first ? MPI_Bcast(buffer, count, type, root, comm) : MPI_SUCCESS;
}

TEST(Validation, LooksIntoEverySetOfBuffers) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    const Harness harness(MPI_COMM_WORLD);
    const testing::Operation forgetful(lw_operation_bcast(forgetful_bcast));
    auto layout = plain_buffers;
    layout.rotating_sets = 2;

    EXPECT_FALSE(validate(harness, *forgetful, 0, 100, layout));
}

TEST(Validation, KnowsWhatEveryOperationDelivers) {
    for (const auto& entry : registry()) {
        const bool silent =
            entry.shape.send_root == Blocks::none && entry.shape.receive_root == Blocks::none;
        if (silent) continue;
        ASSERT_TRUE(entry.delivers) << entry.name;
        std::size_t parts = 0;
        for (int me = 0; me < 4; ++me) parts += entry.delivers({me, 4, 0, window}).size();
        EXPECT_GT(parts, 0u) << entry.name;
    }
}

// Loses the last byte on the way.
int careless_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return MPI_Bcast(buffer, count - 1, type, root, comm);
}

TEST(Validation, NoticesALostByteAndSaysWhere) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks";
    const Harness harness(MPI_COMM_WORLD);
    const testing::Operation careless(lw_operation_bcast(careless_bcast));

    const auto valid = validate(harness, *careless, 0, 100);

    ASSERT_FALSE(valid);
    EXPECT_EQ(valid.failure().status, LW_ERR_OPERATION);
    EXPECT_NE(valid.failure().sentence.find("first at element 99"), std::string::npos)
        << valid.failure().sentence;
}

// Loses the last byte on the way to rank 1 and the rest on the way to those after it.
int uneven_bcast(void *buffer, int count, MPI_Datatype type, int, MPI_Comm comm) {
    std::vector<char> arrived(static_cast<std::size_t>(count));
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) std::memcpy(arrived.data(), buffer, arrived.size());
    const int code = MPI_Bcast(arrived.data(), count, type, 0, comm);
    const auto right = rank == 1 ? arrived.size() - 1 : 0;
    if (rank > 0) std::memcpy(buffer, arrived.data(), right);
    return code;
}

TEST(Validation, NamesTheFirstWrongElementOfTheFirstRankThatHasOne) {
    if (size_of(MPI_COMM_WORLD) < 3) GTEST_SKIP() << "needs two ranks that are wrong";
    const Harness harness(MPI_COMM_WORLD);
    const testing::Operation uneven(lw_operation_bcast(uneven_bcast));

    const auto valid = validate(harness, *uneven, 0, 100);

    ASSERT_FALSE(valid);
    EXPECT_NE(valid.failure().sentence.find("on rank 1, first at element 99"), std::string::npos)
        << valid.failure().sentence;
}

int silent_bcast(void *, int, MPI_Datatype, int, MPI_Comm) {
    return MPI_SUCCESS;
}

TEST(Validation, NoticesThatASingleByteOfRank0IsNotDelivered) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "one rank delivers nothing";
    const Harness harness(MPI_COMM_WORLD);
    const testing::Operation silent(lw_operation_bcast(silent_bcast));

    EXPECT_FALSE(validate(harness, *silent, 0, 1));
}

// As one that rounds in another type than the one it is asked for.
int inexact_allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                      MPI_Comm comm) {
    const int code = MPI_Allreduce(send, receive, count, type, op, comm);
    for (int i = 0; i < count; ++i) static_cast<float *>(receive)[i] += 0.25F;
    return code;
}

TEST(Validation, NoticesAPartOfANumber) {
    const Harness harness(MPI_COMM_WORLD);
    const testing::Operation inexact(lw_operation_allreduce(inexact_allreduce));

    EXPECT_FALSE(validate(harness, *inexact, 0, 64));
}

TEST(Marks, OfTwoRanksDiffer) {
    constexpr int ranks = 300;
    std::set<std::vector<std::byte>> all;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<std::byte> bytes(8);
        mark(bytes, rank);
        EXPECT_TRUE(is_marked(bytes, rank));
        all.insert(bytes);
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks));
}

TEST(Marks, OfOneByteDifferOnManyRanks) {
    constexpr int ranks = 127;
    std::set<std::byte> all;
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<std::byte> bytes(1);
        mark(bytes, rank);
        all.insert(bytes[0]);
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks));
}

TEST(Marks, AreNotWhatFreshMemoryHolds) {
    for (int rank = 0; rank < 300; ++rank) {
        EXPECT_FALSE(is_marked(std::vector<std::byte>(1), rank)) << rank;
    }
}

}  // namespace
}  // namespace lanewise::measure
