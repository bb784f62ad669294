// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/topology.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "testing/ranks.hpp"

namespace lanewise::collectives {
namespace {

using testing::rank_of;
using testing::size_of;

#ifndef LANEWISE_SIMULATED

/* All ranks on a ring. */
MPI_Comm ring() {
    const int ranks = size_of(MPI_COMM_WORLD);
    const int wraps = 1;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &wraps, 0, &made);
    return made;
}

/* All ranks in a graph, each with the next one as its neighbor. */
MPI_Comm graph() {
    const int ranks = size_of(MPI_COMM_WORLD);
    std::vector<int> index;
    std::vector<int> edges;
    for (int rank = 0; rank < ranks; ++rank) {
        index.push_back(rank + 1);
        edges.push_back((rank + 1) % ranks);
    }
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Graph_create(MPI_COMM_WORLD, ranks, index.data(), edges.data(), 0, &made);
    return made;
}

/* The same without the last rank, which gets MPI_COMM_NULL. */
MPI_Comm without_last(MPI_Comm comm) {
    const int last = size_of(comm) - 1;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group part = MPI_GROUP_NULL;
    MPI_Comm_group(comm, &all);
    MPI_Group_excl(all, 1, &last, &part);
    MPI_Comm made = MPI_COMM_NULL;
    if (rank_of(comm) != last) MPI_Comm_create_group(comm, part, 0, &made);
    MPI_Group_free(&part);
    MPI_Group_free(&all);
    return made;
}

TEST(Neighbors, AreThoseOfTheTopology) {
    const int ranks = size_of(MPI_COMM_WORLD);
    const int next = (rank_of(MPI_COMM_WORLD) + 1) % ranks;
    const int before = (rank_of(MPI_COMM_WORLD) + ranks - 1) % ranks;
    MPI_Comm on_ring = ring();
    MPI_Comm in_graph = graph();

    const auto of_ring = neighbors_in(on_ring);
    const auto of_graph = neighbors_in(in_graph);

    ASSERT_TRUE(of_ring && of_graph);
    EXPECT_EQ(of_ring->sources, (std::vector{before, next}));
    EXPECT_EQ(of_graph->destinations, (std::vector{next}));
    EXPECT_FALSE(neighbors_in(MPI_COMM_WORLD));
    MPI_Comm_free(&on_ring);
    MPI_Comm_free(&in_graph);
}

TEST(Neighbors, AreNoneWhereACommunicatorKeptTheTopologyOfMoreRanks) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "a part needs two ranks";
    for (MPI_Comm whole : {ring(), graph()}) {
        MPI_Comm part = without_last(whole);
        if (part != MPI_COMM_NULL) {
            EXPECT_FALSE(neighbors_in(part));
            MPI_Comm_free(&part);
        }
        MPI_Comm_free(&whole);
    }
}

#endif

}  // namespace
}  // namespace lanewise::collectives
