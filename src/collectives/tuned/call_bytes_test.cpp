// SPDX-License-Identifier: BSD-3-Clause
//
// The sizes of calls, which each rank knows from its own arguments; those that do not count for it
// are wrong on purpose.

#include "collectives/tuned/call_bytes.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

namespace lanewise::tuned {
namespace {

using collectives::Call;
using collectives::Collective;
using collectives::CommunicatorState;
using collectives::Neighbors;

constexpr int counts[] = {1, 2, 3};

/* The second of three ranks. */
CommunicatorState& second_rank() {
    static CommunicatorState state;
    state.rank = 1;
    state.ranks = 3;
    return state;
}

/* 5 elements of 4 bytes sent, 7 of 8 bytes received. */
Call even(Collective collective, int root = 0) {
    return {.collective = collective,
            .send_count = 5,
            .send_type = MPI_INT,
            .receive_count = 7,
            .receive_type = MPI_DOUBLE,
            .root = root};
}

TEST(CallBytes, OfBlocksOfOneSizeAreThoseOfOneBlock) {
    const auto& state = second_rank();
    EXPECT_EQ(call_bytes(even(Collective::scatter, 1), state), 20U);
    EXPECT_EQ(call_bytes(even(Collective::scatter, 0), state), 56U);
    EXPECT_EQ(call_bytes(even(Collective::gather, 1), state), 56U);
    EXPECT_EQ(call_bytes(even(Collective::gather, 0), state), 20U);
    EXPECT_EQ(call_bytes(even(Collective::bcast), state), 56U);
    EXPECT_EQ(call_bytes(even(Collective::allgather), state), 56U);
    EXPECT_EQ(call_bytes(even(Collective::alltoall), state), 56U);
    EXPECT_EQ(call_bytes(even(Collective::reduce_scatter), state), 56U);
    EXPECT_EQ(call_bytes(even(Collective::barrier), state), 0U);
}

TEST(CallBytes, OfBlocksOfSeveralSizesAreThoseOfTheBlockOfTheRank) {
    const auto& state = second_rank();
    auto scattered = even(Collective::scatterv, 0);
    EXPECT_EQ(call_bytes(scattered, state), 56U);
    scattered.root = 1;
    scattered.counts = counts;
    EXPECT_EQ(call_bytes(scattered, state), 8U);

    auto gathered = even(Collective::gatherv, 0);
    EXPECT_EQ(call_bytes(gathered, state), 20U);
    gathered.root = 1;
    gathered.counts = counts;
    EXPECT_EQ(call_bytes(gathered, state), 16U);

    for (const auto collective : {Collective::allgatherv, Collective::reduce_scatter}) {
        auto call = even(collective);
        call.counts = counts;
        EXPECT_EQ(call_bytes(call, state), 16U) << name_of(collective);
    }
}

TEST(CallBytes, OfAnUnevenExchangeAreAllThatARankSendsOrElseReceives) {
    const auto& state = second_rank();
    const int none[] = {0, 0, 0};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    auto exchanged = even(Collective::alltoallv);
    exchanged.send_counts = exchanged.counts = counts;
    EXPECT_EQ(call_bytes(exchanged, state), 24U);
    exchanged.send_counts = none;
    EXPECT_EQ(call_bytes(exchanged, state), 48U);
    exchanged.send = MPI_IN_PLACE;
    exchanged.send_counts = nullptr;
    EXPECT_EQ(call_bytes(exchanged, state), 48U);

    Call typed{.collective = Collective::alltoallw,
               .counts = counts,
               .send_counts = counts,
               .send_types = types,
               .receive_types = types};
    EXPECT_EQ(call_bytes(typed, state), 1U + 8U + 24U);
}

TEST(CallBytes, OfNeighborsLeaveOutWhatIsForNobody) {
    CommunicatorState state;
    state.ranks = 3;
    state.neighbors = Neighbors{{0, 2, 1}, {0, MPI_PROC_NULL, 2}};
    auto exchanged = even(Collective::neighbor_alltoallv);
    exchanged.send_counts = exchanged.counts = counts;
    EXPECT_EQ(call_bytes(exchanged, state), 16U);
    EXPECT_EQ(call_bytes(even(Collective::neighbor_alltoall), state), 20U);
    EXPECT_EQ(call_bytes(even(Collective::neighbor_allgatherv), state), 20U);

    state.neighbors->destinations = {MPI_PROC_NULL};
    EXPECT_EQ(call_bytes(exchanged, state), 48U);
    EXPECT_EQ(call_bytes(even(Collective::neighbor_allgather), state), 56U);
    state.neighbors->sources = {};
    EXPECT_EQ(call_bytes(even(Collective::neighbor_allgather), state), 0U);
    EXPECT_EQ(call_bytes(exchanged, state), 0U);
}

}  // namespace
}  // namespace lanewise::tuned
