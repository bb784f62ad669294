// SPDX-License-Identifier: BSD-3-Clause
//
// Calls as requests of the MPI, by every algorithm that can go on here, against
// the MPI's own; and what an algorithm says of itself that decides whether it can.

#include "collectives/execute/request.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "collectives/execute/program.hpp"
#include "collectives/execute/testing/calls.hpp"
#include "testing/cases.hpp"

namespace lanewise::collectives {
namespace {

using testing::Trial;

const auto trials = lanewise::testing::cases<unsigned>(12, 5);

class EveryAlgorithm : public ::testing::TestWithParam<const Algorithm *> {};

TEST_P(EveryAlgorithm, GivesByARequestWhatTheMpiGives) {
    const Algorithm& algorithm = *GetParam();
    for (unsigned seed = 200; seed < 200 + trials; ++seed) {
        Trial trial(algorithm.collective, seed, MPI_COMM_WORLD);
        if (!refusal(algorithm, trial.traits()).empty()) continue;
        const auto expected = trial.by_the_mpi();

        bool served = false;
        const auto given = trial.by([&](const Call& call) {
            MPI_Request request = MPI_REQUEST_NULL;
            const Choice choice{&algorithm, trial.segment_bytes(), 1};
            const int code = start_request(call, choice, served, &request);
            return served && code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
        });

        ASSERT_EQ(served, can_be_requested(algorithm) && !trial.has_own_operator());
        if (!served) continue;
        ASSERT_EQ(given, expected) << algorithm.name << ": " << trial.describe();
    }
}

/* All ranks have given each other one number. */
class Exchange {
  public:
    Exchange(int number, int ranks) : sent_(number), received_(static_cast<std::size_t>(ranks)) {}
    Call call() {
        return {.collective = Collective::allgather,
                .send = &sent_,
                .send_count = 1,
                .send_type = MPI_INT,
                .receive = received_.data(),
                .receive_count = 1,
                .receive_type = MPI_INT,
                .comm = MPI_COMM_WORLD};
    }
    const std::vector<int>& received() const { return received_; }

  private:
    int sent_;
    std::vector<int> received_;
};

// The first rank is in the second round of the old call when the others begin the new one.
TEST(Tags, OfACallThatIsStillUnderWayAreNotThoseOfALaterOne) {
    auto& state = *state_of(MPI_COMM_WORLD);
    if (state.ranks < 3) GTEST_SKIP() << "needs three ranks";
    const Choice ring{find_algorithm(Collective::allgather, "ring"), 0, 1};
    Exchange old(100 + state.rank, state.ranks);
    Exchange later(200 + state.rank, state.ranks);
    bool served = false;
    bool done = false;
    PendingCall pending;

    ASSERT_EQ(start(old.call(), ring, served, pending), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (state.rank == 0) {
        ASSERT_EQ(test(*pending, done), MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    constexpr int calls_between = (1 << 14) - 1;
    for (int call = 0; call < calls_between; ++call) state.tags.next();
    ASSERT_EQ(execute(later.call(), ring, served), MPI_SUCCESS);
    ASSERT_EQ(wait(*pending), MPI_SUCCESS);

    for (int rank = 0; rank < state.ranks; ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        EXPECT_EQ(old.received()[i], 100 + rank);
        EXPECT_EQ(later.received()[i], 200 + rank);
    }
}

// More than are polled at once.
TEST(Requests, ComeToAnEndHoweverManyThereAre) {
    constexpr int calls = 100;
    auto& state = *state_of(MPI_COMM_WORLD);
    ASSERT_EQ(prepare_to_execute(state, MPI_COMM_WORLD), MPI_SUCCESS);
    const Choice choice{find_algorithm(Collective::allgather, "linear_nb"), 0, 1};
    std::vector<Exchange> exchanges;
    for (int call = 0; call < calls; ++call) {
        exchanges.emplace_back(1000 * call + state.rank, state.ranks);
    }
    std::vector<MPI_Request> requests(calls, MPI_REQUEST_NULL);

    // The first rank begins when the others have begun all, and wait for it.
    for (int other = 1; state.rank == 0 && other < state.ranks; ++other) {
        MPI_Recv(nullptr, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (std::size_t call = 0; call < calls; ++call) {
        bool served = false;
        ASSERT_EQ(start_request(exchanges[call].call(), choice, served, &requests[call]),
                  MPI_SUCCESS);
        ASSERT_TRUE(served);
    }
    if (state.rank != 0) MPI_Send(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD);
    ASSERT_EQ(MPI_Waitall(calls, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);

    for (int call = 0; call < calls; ++call) {
        for (int other = 0; other < state.ranks; ++other) {
            const auto& received = exchanges[static_cast<std::size_t>(call)].received();
            ASSERT_EQ(received[static_cast<std::size_t>(other)], 1000 * call + other);
        }
    }
}

/* A call of `ranks` ranks as one of them sees it, with blocks of three units. */
struct Seen {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> offsets;
    std::vector<int> neighbors; /* everybody */
    CallShape shape;

    Seen(Collective collective, int ranks, int rank, int root) {
        shape = {.ranks = ranks, .rank = rank, .root = root, .count = 3, .segment = 1};
        const bool takes_counts =
            collective == Collective::scatterv || collective == Collective::gatherv ||
            collective == Collective::allgatherv || collective == Collective::reduce_scatter;
        if (!takes_counts && !is_neighborhood(collective)) return;
        counts.assign(static_cast<std::size_t>(ranks), 3);
        for (int r = 0; r < ranks; ++r) offsets.push_back(3 * r);
        shape.counts = counts;
        shape.offsets = offsets;
        if (!is_neighborhood(collective)) return;
        neighbors.resize(counts.size());
        std::iota(neighbors.begin(), neighbors.end(), 0);
        shape.sources = shape.destinations = neighbors;
        shape.send_counts = counts;
        shape.send_offsets = offsets;
    }
};

bool all_post_at_once(const Algorithm& algorithm) {
    // With 8 ranks a tree of radix 8 is a star, with 17 no tree of the registry is. From 18 ranks
    // on, the messages of a rank do not fit into a window of 16.
    for (int ranks = 1; ranks <= 18; ++ranks) {
        if (!refusal(algorithm, {.ranks = ranks}).empty()) continue;
        for (int each = 0; each < ranks * ranks; ++each) {
            const Seen seen(algorithm.collective, ranks, each % ranks, each / ranks);
            if (!posts_at_once(compile(algorithm.build(seen.shape), {}))) return false;
        }
    }
    return true;
}

TEST_P(EveryAlgorithm, SaysOfItselfWhetherNoMessageWaitsForAnother) {
    const Algorithm& algorithm = *GetParam();
    if (algorithm.needs.platform || algorithm.needs.hosts || algorithm.needs.sites) {
        EXPECT_FALSE(algorithm.posts_at_once);
    } else {
        EXPECT_EQ(algorithm.posts_at_once, all_post_at_once(algorithm));
    }
}

std::string name(const ::testing::TestParamInfo<const Algorithm *>& info) {
    return testing::test_name(*info.param);
}

INSTANTIATE_TEST_SUITE_P(, EveryAlgorithm, ::testing::ValuesIn(algorithms()), name);

}  // namespace
}  // namespace lanewise::collectives
