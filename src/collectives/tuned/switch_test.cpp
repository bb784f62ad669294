// SPDX-License-Identifier: BSD-3-Clause
//
// Rules that the program sets while it runs, with LANEWISE_SWITCHED in its environment. The
// interposed functions are linked into this program, and what is left to the MPI is counted.

#include "collectives/tuned/switch.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "collectives/execute/request.hpp"
#include "collectives/tuned/next_mpi.hpp"
#include "testing/measuring.hpp"

namespace lanewise::tuned {
namespace {

using collectives::Calling;
using collectives::Collective;
using collectives::Operation;

int forwarded = 0;

int count_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    ++forwarded;
    return PMPI_Bcast(buffer, count, type, root, comm);
}

int count_ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request *request) {
    ++forwarded;
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

class Switch : public ::testing::Test {
  protected:
    void SetUp() override {
        next_mpi.Bcast = count_bcast;
        next_mpi.Ibcast = count_ibcast;
        follow(nullptr);
    }

    static int follow(const char *algorithm, std::uint64_t from_bytes = 64,
                      std::uint64_t to_bytes = 64, Operation operation = Collective::bcast) {
        const lanewise_switched_rule rule{
            .operation = static_cast<std::uint32_t>(operation.index()),
            .from_bytes = from_bytes,
            .to_bytes = to_bytes,
            .algorithm = algorithm,
            .segment_bytes = 0,
            .lanes = 1};
        return lanewise_switch(&rule);
    }

    /* How many of three broadcasts of so many bytes were left to the MPI; all must arrive. */
    static int left_to_the_mpi(int bytes, MPI_Comm comm = MPI_COMM_WORLD) {
        forwarded = 0;
        const int root = testing::size_of(comm) - 1;
        for (char value = 1; value <= 3; ++value) {
            std::vector<char> data(static_cast<std::size_t>(bytes));
            if (testing::rank_of(comm) == root) data.assign(data.size(), value);
            MPI_Bcast(data.data(), bytes, MPI_CHAR, root, comm);
            EXPECT_EQ(data, std::vector<char>(data.size(), value));
        }
        return forwarded;
    }
};

TEST_F(Switch, LeavesCallsToTheMpiWhereNoRuleIsSet) {
    EXPECT_EQ(left_to_the_mpi(64), 3);
}

TEST_F(Switch, IsForCallsOfItsSizesAndNoOthers) {
    ASSERT_EQ(follow("binomial", 64, 128), 0);

    EXPECT_EQ(left_to_the_mpi(63), 3);
    EXPECT_EQ(left_to_the_mpi(64), 0);
    EXPECT_EQ(left_to_the_mpi(128), 0);
    EXPECT_EQ(left_to_the_mpi(129), 3);
}

TEST_F(Switch, TakesEffectOnCallsThatWereDecidedBefore) {
    for (const char *algorithm : {"binomial", "linear", "binomial"}) {
        ASSERT_EQ(follow(algorithm), 0);
        EXPECT_EQ(left_to_the_mpi(64), 0) << algorithm;
        ASSERT_EQ(follow(nullptr), 0);
        EXPECT_EQ(left_to_the_mpi(64), 3) << "after " << algorithm;
    }
}

TEST_F(Switch, HoldsOnEveryCommunicator) {
    MPI_Comm pair = MPI_COMM_NULL;
    const int rank = testing::rank_of(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : 1, -rank, &pair);
    ASSERT_EQ(follow("binomial"), 0);

    EXPECT_EQ(left_to_the_mpi(64, pair), rank < 2 ? 0 : 3) << "a rank alone has no rules";

    MPI_Comm_free(&pair);
}

TEST_F(Switch, TellsNonblockingCallsFromBlockingOnes) {
    if (!collectives::can_be_requested(*collectives::find_algorithm(Collective::bcast, "linear"))) {
        GTEST_SKIP() << "this MPI does not make a linear broadcast go on by itself";
    }
    ASSERT_EQ(follow("linear", 64, 64, {Collective::bcast, Calling::nonblocking}), 0);
    EXPECT_EQ(left_to_the_mpi(64), 3);
    forwarded = 0;
    char data[64] = {};
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Ibcast(data, 64, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    EXPECT_EQ(forwarded, 0);
}

TEST_F(Switch, CountsTheCallsThatItsRuleWasFoundToServe) {
    const auto before = lanewise_served();
    left_to_the_mpi(64);
    EXPECT_EQ(lanewise_served(), before);

    ASSERT_EQ(follow("binomial"), 0);
    left_to_the_mpi(64);
    EXPECT_EQ(lanewise_served(), before + 1) << "the calls that repeat are prepared";
}

TEST_F(Switch, RefusesWhatThereIsNot) {
    ASSERT_EQ(follow("binomial"), 0);

    EXPECT_NE(follow("binominal"), 0);
    EXPECT_NE(lanewise_switch(nullptr), 0);
    const lanewise_switched_rule beyond{.operation = collectives::operation_count,
                                        .from_bytes = 0,
                                        .to_bytes = 0,
                                        .algorithm = nullptr,
                                        .segment_bytes = 0,
                                        .lanes = 1};
    EXPECT_NE(lanewise_switch(&beyond), 0);
    EXPECT_EQ(left_to_the_mpi(64), 0) << "the rule that was set before still holds";
}

}  // namespace
}  // namespace lanewise::tuned
