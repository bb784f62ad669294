// SPDX-License-Identifier: BSD-3-Clause
//
// Algorithms that look at hosts and sites on real ranks of one host, which a placement spreads over
// hosts of two ranks at three sites by their numbers.

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

#include "collectives/execute/execute.hpp"
#include "collectives/execute/rank_placement.hpp"
#include "collectives/execute/testing/calls.hpp"
#include "testing/ranks.hpp"

namespace lanewise::collectives {
namespace {

using testing::rank_of;
using testing::size_of;

constexpr int block = 100'000;

/* Every rank writes the same file for itself, before anything asks for it. */
const bool placed = [] {
    const auto path = std::filesystem::temp_directory_path() /
                      ("lanewise-placement-" + std::to_string(getpid()) + ".json");
    std::ofstream file(path);
    file << R"({"schema": "lanewise-placement", "version": 1, "hosts": [], "ranks": [)";
    for (int rank = 0; rank < 16; ++rank) {
        file << (rank > 0 ? "," : "") << R"({"rank": )" << rank << R"(, "host": "h)" << rank % 3
             << "-" << rank / 6 << R"(", "site": "s)" << rank % 3 << "\"}";
    }
    file << "]}";
    file.close();
    return setenv("LANEWISE_PLACEMENT", path.c_str(), 1) == 0;
}();

struct RemovePlacement : ::testing::Environment {
    void TearDown() override { std::filesystem::remove(std::getenv("LANEWISE_PLACEMENT")); }
};
const auto *const removal = ::testing::AddGlobalTestEnvironment(new RemovePlacement);

TEST(Hosts, AreServedByOneOfTheirRanksWithTheResultOfTheMpi) {
    for (const auto *algorithm : algorithms()) {
        if (!algorithm->needs.hosts) continue;
        for (unsigned seed = 300; seed < 312; ++seed) {
            lanewise::testing::Trial trial(algorithm->collective, seed, MPI_COMM_WORLD);
            auto traits = trial.traits();
            traits.hosts = size_of(MPI_COMM_WORLD) > 1;
            if (!refusal(*algorithm, traits).empty()) continue;
            const auto expected = trial.by_the_mpi();
            bool served = false;

            const auto given = trial.by([&](const Call& call) {
                return execute(call, {algorithm, trial.segment_bytes(), 1}, served);
            });

            ASSERT_TRUE(served) << trial.describe();
            ASSERT_EQ(given, expected) << trial.describe();
        }
    }
}

Choice over_lanes(Collective collective, const char *name, int lanes) {
    return {find_algorithm(collective, name), 64 * 1024, lanes};
}

// A block of integers from each rank, or to each.
Call in_blocks(Collective collective, const std::vector<int>& send, std::vector<int>& receive,
               int root = 0) {
    return {.collective = collective,
            .send = send.data(),
            .send_count = block,
            .send_type = MPI_INT,
            .receive = receive.data(),
            .receive_count = block,
            .receive_type = MPI_INT,
            .root = root,
            .comm = MPI_COMM_WORLD};
}

TEST(RankPlacement, NumbersSitesAsThePlacementSays) {
    const auto found = rank_placement(MPI_COMM_WORLD);

    ASSERT_TRUE(placed);
    for (int rank = 0; rank < size_of(MPI_COMM_WORLD); ++rank) {
        EXPECT_EQ(found.sites[static_cast<std::size_t>(rank)], rank % 3);
    }
}

TEST(RankPlacement, ScatterOverLanesDeliversEachBlock) {
    const int ranks = size_of(MPI_COMM_WORLD);
    std::vector<int> send(static_cast<std::size_t>(ranks * block));
    std::iota(send.begin(), send.end(), 0);
    for (const char *name : {"multilane", "three_step", "single_lane"}) {
        for (int lanes = 1; lanes <= 3; ++lanes) {
            std::vector<int> receive(block, -1);
            const Call call = in_blocks(Collective::scatter, send, receive, ranks - 1);
            bool served = false;
            ASSERT_EQ(execute(call, over_lanes(Collective::scatter, name, lanes), served), 0);
            ASSERT_EQ(served, ranks > 1);
            if (!served) continue;
            std::vector<int> expected(block);
            std::iota(expected.begin(), expected.end(), rank_of(MPI_COMM_WORLD) * block);
            EXPECT_EQ(receive, expected) << name << " over " << lanes;
        }
    }
}

TEST(RankPlacement, GatherOverLanesCollectsEachBlock) {
    const int ranks = size_of(MPI_COMM_WORLD);
    std::vector<int> send(block);
    std::iota(send.begin(), send.end(), rank_of(MPI_COMM_WORLD) * block);
    for (const char *name : {"multilane", "three_step", "single_lane"}) {
        for (int lanes = 1; lanes <= 3; ++lanes) {
            std::vector<int> receive(static_cast<std::size_t>(ranks * block), -1);
            const Call call = in_blocks(Collective::gather, send, receive, 0);
            bool served = false;
            ASSERT_EQ(execute(call, over_lanes(Collective::gather, name, lanes), served), 0);
            ASSERT_EQ(served, ranks > 1);
            if (!served || rank_of(MPI_COMM_WORLD) != 0) continue;
            std::vector<int> expected(receive.size());
            std::iota(expected.begin(), expected.end(), 0);
            EXPECT_EQ(receive, expected) << name << " over " << lanes;
        }
    }
}

TEST(RankPlacement, ScatterOverLanesNeedNotBeWaitedFor) {
    const int ranks = size_of(MPI_COMM_WORLD);
    std::vector<int> send(static_cast<std::size_t>(ranks * block));
    std::iota(send.begin(), send.end(), 0);
    std::vector<int> receive(block, -1);
    const Call call = in_blocks(Collective::scatter, send, receive, 0);
    bool served = false;
    PendingCall pending;
    ASSERT_EQ(start(call, over_lanes(Collective::scatter, "multilane", 2), served, pending), 0);
    ASSERT_EQ(served, ranks > 1);
    if (!served) return;
    ASSERT_EQ(wait(*pending), MPI_SUCCESS);
    std::vector<int> expected(block);
    std::iota(expected.begin(), expected.end(), rank_of(MPI_COMM_WORLD) * block);
    EXPECT_EQ(receive, expected);
}

TEST(RankPlacement, AllgatherOverLanesCollectsEachBlockEverywhere) {
    const int ranks = size_of(MPI_COMM_WORLD);
    std::vector<int> send(block);
    std::iota(send.begin(), send.end(), rank_of(MPI_COMM_WORLD) * block);
    std::vector<int> expected(static_cast<std::size_t>(ranks * block));
    std::iota(expected.begin(), expected.end(), 0);
    for (int lanes = 1; lanes <= 3; ++lanes) {
        std::vector<int> receive(expected.size(), -1);
        const Call call = in_blocks(Collective::allgather, send, receive);
        bool served = false;
        ASSERT_EQ(execute(call, over_lanes(Collective::allgather, "multilane", lanes), served), 0);
        ASSERT_EQ(served, ranks > 1);
        if (!served) continue;
        EXPECT_EQ(receive, expected) << "over " << lanes;
    }
}

TEST(RankPlacement, AllreduceOverLanesAddsUpTheSameBitsEverywhere) {
    const int ranks = size_of(MPI_COMM_WORLD);
    std::vector<double> send(block);
    for (int i = 0; i < block; ++i)
        send[static_cast<std::size_t>(i)] = 1.0 / (1 + i + rank_of(MPI_COMM_WORLD));
    for (int lanes = 1; lanes <= 3; ++lanes) {
        std::vector<double> receive(block, -1.0);
        const Call call{.collective = Collective::allreduce,
                        .send = send.data(),
                        .receive = receive.data(),
                        .receive_count = block,
                        .receive_type = MPI_DOUBLE,
                        .op = MPI_SUM,
                        .comm = MPI_COMM_WORLD};
        bool served = false;
        ASSERT_EQ(execute(call, over_lanes(Collective::allreduce, "multilane", lanes), served), 0);
        ASSERT_EQ(served, ranks > 1);
        if (!served) continue;
        for (int i = 0; i < block; i += 997) {
            double sum = 0.0;
            for (int rank = 0; rank < ranks; ++rank) sum += 1.0 / (1 + i + rank);
            EXPECT_NEAR(receive[static_cast<std::size_t>(i)], sum, 1e-12) << "over " << lanes;
        }
        auto of_root = receive;
        MPI_Bcast(of_root.data(), block, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        EXPECT_EQ(receive, of_root) << "over " << lanes;
    }
}

}  // namespace
}  // namespace lanewise::collectives
