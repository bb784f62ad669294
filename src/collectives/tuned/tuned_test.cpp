// SPDX-License-Identifier: BSD-3-Clause
//
// The interposed functions, linked into this program (see testing/prepared.hpp).
// Results are compared with the MPI's own, and what is passed on to it is counted.

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "collectives/execute/testing/calls.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/reduced_types.hpp"
#include "collectives/tuned/rule_bytes.hpp"
#include "collectives/tuned/testing/prepared.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;
using lanewise::testing::Trial;
using testing::first_of;
using testing::passed_by;
using testing::world_rank;
using testing::world_size;

class EveryCollective : public ::testing::TestWithParam<int> {};

TEST_P(EveryCollective, FollowsItsRuleAndGivesWhatTheMpiGives) {
    const auto collective = static_cast<Collective>(GetParam());
    const auto *algorithm = first_of(collective);
    if (!algorithm) GTEST_SKIP() << "no algorithm of " << name_of(collective);
    for (unsigned seed = 0; seed < 20; ++seed) {
        Trial trial(collective, seed, MPI_COMM_WORLD);
        active = false;
        const auto expected = trial.by_the_mpi();
        active = true;
        std::vector<int> given;

        const int passed = passed_by([&] { given = trial.by_the_mpi(); });

        ASSERT_EQ(given, expected) << trial.describe();
        const bool served = refusal(*algorithm, trial.traits()).empty();
        if (collective == Collective::reduce_scatter) continue;
        EXPECT_EQ(passed, served ? 0 : 1) << trial.describe();
    }
}

std::string name(const ::testing::TestParamInfo<int>& info) {
    return name_of(static_cast<Collective>(info.param));
}

INSTANTIATE_TEST_SUITE_P(, EveryCollective, ::testing::Range(0, collective_count), name);

TEST(Tuned, WhatIsNotSignificantOnARankMayBeAnything) {
    const bool root = world_rank() == 1 % world_size();
    const int from = 1 % world_size();
    std::vector<int> blocks(static_cast<std::size_t>(world_size()));
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int>(i) * 3;
    int mine = -1;

    const int passed = passed_by([&] {
        MPI_Scatter(root ? blocks.data() : nullptr, root ? 1 : 0,
                    root ? MPI_INT : MPI_DATATYPE_NULL, &mine, 1, MPI_INT, from, MPI_COMM_WORLD);
    });

    EXPECT_EQ(mine, 3 * world_rank());
    EXPECT_EQ(passed, first_of(Collective::scatter) ? 0 : 1);
}

TEST(Tuned, RanksMayDescribeTheSameBytesByDifferentTypes) {
    const bool root = world_rank() == 0;
    std::vector<int> blocks(2 * static_cast<std::size_t>(world_size()), 7);
    int mine[2] = {};

    MPI_Scatter(blocks.data(), 2, MPI_INT, mine, root ? 2 : 8, root ? MPI_INT : MPI_BYTE, 0,
                MPI_COMM_WORLD);

    EXPECT_EQ(mine[0], 7);
    EXPECT_EQ(mine[1], 7);
}

TEST(Tuned, ADuplicateFollowsAndCommunicatorsOfOtherSizesPass) {
    MPI_Comm duplicate = MPI_COMM_NULL;
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() == 0 ? 0 : 1, 0, &alone);
    const auto scatter = [](MPI_Comm comm) {
        int blocks[64] = {5, 5, 5, 5, 5, 5, 5, 5, 5};
        int mine = 0;
        MPI_Scatter(blocks, 1, MPI_INT, &mine, 1, MPI_INT, 0, comm);
        EXPECT_EQ(mine, 5);
    };

    EXPECT_EQ(passed_by([&] { scatter(duplicate); }), 0);
    EXPECT_EQ(passed_by([&] { scatter(alone); }), 1);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&alone);
}

TEST(Tuned, HandlesThatAreUsedAgainAreNotMistaken) {
    for (int round = 0; round < 100; ++round) {
        MPI_Comm comm = MPI_COMM_NULL;
        const bool whole = round % 3 == 0;
        MPI_Comm_split(MPI_COMM_WORLD, whole ? 0 : world_rank() % 2, 0, &comm);
        int blocks[64];
        for (auto& block : blocks) block = round;
        int mine = -1;
        const int passed =
            passed_by([&] { MPI_Scatter(blocks, 1, MPI_INT, &mine, 1, MPI_INT, 0, comm); });
        EXPECT_EQ(mine, round);
        EXPECT_EQ(passed, whole ? 0 : 1);
        MPI_Comm_free(&comm);
    }
}

TEST(Tuned, AnIntercommunicatorIsTheMpisOwnBusiness) {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    const bool first = world_rank() < 2;
    MPI_Comm_split(MPI_COMM_WORLD, first ? 0 : 1, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? 2 : 0, 9, &between);
    int value = first ? 42 : 0;
    const int root = !first ? 0 : world_rank() == 0 ? MPI_ROOT : MPI_PROC_NULL;

    const int passed = passed_by([&] { MPI_Bcast(&value, 1, MPI_INT, root, between); });

    EXPECT_EQ(value, 42);
    EXPECT_EQ(passed, 1);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

TEST(Tuned, TheMpiItselfComplainsOfWrongArguments) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int value = 0;
    int result = 0;

    EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, 99, comm)), MPI_ERR_ROOT);
    EXPECT_EQ(class_of(MPI_Bcast(&value, -1, MPI_INT, 0, comm)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, comm)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_NULL)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_OP_NULL, comm)), MPI_ERR_OP);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

/* A communicator that returns errors, whose ranks have agreed already; so does the world then. */
class Returning {
  public:
    Returning() {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        MPI_Barrier(comm_);
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    ~Returning() {
        active = true;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_free(&comm_);
    }
    Returning(const Returning&) = delete;
    Returning& operator=(const Returning&) = delete;
    MPI_Comm comm() const { return comm_; }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST(Tuned, TheMpiItselfComplainsWhereInPlaceStandsForABuffer) {
    const Returning returning;
    const auto comm = returning.comm();
    const auto ranks = static_cast<std::size_t>(world_size());
    std::vector<int> sent(ranks, 1);
    std::vector<int> received(ranks);
    const std::vector<int> counts(ranks, 1);
    const auto expect_what_the_mpi_says = [&](const char *name, const auto& call) {
        active = false;
        const int expected = class_of(call());
        active = true;
        EXPECT_NE(expected, MPI_SUCCESS) << name;
        EXPECT_EQ(class_of(call()), expected) << name;
    };
    const auto *from = sent.data();
    void *none = MPI_IN_PLACE;

    expect_what_the_mpi_says("allreduce",
                             [&] { return MPI_Allreduce(from, none, 1, MPI_INT, MPI_SUM, comm); });
    expect_what_the_mpi_says("scan",
                             [&] { return MPI_Scan(from, none, 1, MPI_INT, MPI_SUM, comm); });
    expect_what_the_mpi_says("reduce_scatter", [&] {
        return MPI_Reduce_scatter(from, none, counts.data(), MPI_INT, MPI_SUM, comm);
    });
    expect_what_the_mpi_says(
        "allgather", [&] { return MPI_Allgather(from, 1, MPI_INT, none, 1, MPI_INT, comm); });
    expect_what_the_mpi_says(
        "alltoall", [&] { return MPI_Alltoall(from, 1, MPI_INT, none, 1, MPI_INT, comm); });
#ifdef OPEN_MPI  // MPICH 4.0 takes it for an address in a broadcast and a reduce
    expect_what_the_mpi_says("bcast", [&] { return MPI_Bcast(none, 1, MPI_INT, 0, comm); });
    // The others would wait for this one, whether or not they follow a rule.
    if (world_rank() == 0) {
        expect_what_the_mpi_says("the root of a reduce", [&] {
            return MPI_Reduce(from, none, 1, MPI_INT, MPI_SUM, 0, comm);
        });
        expect_what_the_mpi_says("the root of a gather", [&] {
            return MPI_Gather(from, 1, MPI_INT, none, 1, MPI_INT, 0, comm);
        });
    } else {
        expect_what_the_mpi_says("one that sends to a reduce", [&] {
            return MPI_Reduce(none, received.data(), 1, MPI_INT, MPI_SUM, 0, comm);
        });
        expect_what_the_mpi_says("one that receives of a scatter", [&] {
            return MPI_Scatter(from, 1, MPI_INT, none, 1, MPI_INT, 0, comm);
        });
    }
#endif
}

TEST(Tuned, InPlaceIsNoSizeWhereItStandsForABufferThatIsNeeded) {
    CommunicatorState state;
    state.ranks = 2;
    const int counts[] = {3, 4};
    const auto size_at = [&](int rank, const Call& call) {
        state.rank = rank;
        return message_bytes(call, state);
    };
    Call reduces{.collective = Collective::reduce,
                 .receive = MPI_IN_PLACE,
                 .receive_count = 2,
                 .receive_type = MPI_INT,
                 .op = MPI_SUM};
    Call scatters{.collective = Collective::scatterv,
                  .send_type = MPI_INT,
                  .receive = MPI_IN_PLACE,
                  .receive_count = 3,
                  .receive_type = MPI_INT,
                  .counts = counts,
                  .displacements = counts};
    const Call gathers{.collective = Collective::gatherv,
                       .send_type = MPI_INT,
                       .receive = MPI_IN_PLACE,
                       .receive_type = MPI_INT,
                       .counts = counts,
                       .displacements = counts};

    const Call broadcasts{.collective = Collective::bcast,
                          .receive = MPI_IN_PLACE,
                          .receive_count = 1,
                          .receive_type = MPI_INT};

    EXPECT_EQ(size_at(0, broadcasts), std::nullopt);
    EXPECT_EQ(size_at(1, broadcasts), std::nullopt);
    EXPECT_EQ(size_at(0, reduces), std::nullopt);
    EXPECT_EQ(size_at(1, reduces), 8U);
    EXPECT_EQ(size_at(0, scatters), 0U);
    EXPECT_EQ(size_at(1, scatters), std::nullopt);
    EXPECT_EQ(size_at(0, gathers), std::nullopt);
    EXPECT_EQ(size_at(1, gathers), 0U);
    reduces.receive = scatters.receive = nullptr;
    reduces.send = scatters.send = MPI_IN_PLACE;
    EXPECT_EQ(size_at(0, reduces), 8U);
    EXPECT_EQ(size_at(1, reduces), std::nullopt);
    EXPECT_EQ(size_at(0, scatters), std::nullopt);
    EXPECT_EQ(size_at(1, scatters), 0U);
    // MPIs take it where there is nothing to receive.
    scatters = {
        .collective = Collective::scatterv, .receive = MPI_IN_PLACE, .receive_type = MPI_INT};
    EXPECT_EQ(size_at(1, scatters), 0U);
}

TEST(Tuned, AReduceScatterOfUnevenBlocksIntoNoBufferIsNotOneOfBlocks) {
    CommunicatorState state;
    state.ranks = 2;
    const int counts[] = {3, 4};
    Call call{.collective = Collective::reduce_scatter,
              .receive_type = MPI_INT,
              .counts = counts,
              .op = MPI_SUM};
    EXPECT_TRUE(has_blocks(call, state));

    call.receive = MPI_IN_PLACE;

    EXPECT_FALSE(has_blocks(call, state));
}

TEST(Tuned, WhatOperatorsTheMpiRefusesATypeIsKnownBeforehand) {
    const MPI_Datatype types[] = {MPI_BYTE,
                                  MPI_PACKED,
                                  MPI_CHAR,
                                  MPI_WCHAR,
                                  MPI_INT,
                                  MPI_UINT64_T,
                                  MPI_FLOAT,
                                  MPI_DOUBLE,
                                  MPI_LONG_DOUBLE,
                                  MPI_AINT,
                                  MPI_C_BOOL,
                                  MPI_C_DOUBLE_COMPLEX,
                                  MPI_C_LONG_DOUBLE_COMPLEX,
                                  MPI_FLOAT_INT,
                                  MPI_2INT,
                                  MPI_INTEGER,
                                  MPI_REAL,
                                  MPI_DOUBLE_PRECISION,
                                  MPI_COMPLEX,
                                  MPI_LOGICAL,
                                  MPI_CHARACTER,
                                  MPI_2REAL};
    const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_LAND,   MPI_LOR,
                          MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    long double zero[4] = {};
    long double result[4] = {};
    int refused = 0;
    for (std::size_t t = 0; t < std::size(types); ++t) {
        for (std::size_t o = 0; o < std::size(ops); ++o) {
            if (types[t] == MPI_DATATYPE_NULL) continue;
            const int code = PMPI_Allreduce(zero, result, 1, types[t], ops[o], MPI_COMM_SELF);
            if (code == MPI_SUCCESS) continue;
            ++refused;
            EXPECT_FALSE(takes(ops[o], types[t])) << "operator " << o << " of type " << t;
        }
    }

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    EXPECT_GT(refused, 100);
    for (const auto op : {MPI_SUM, MPI_MAX, MPI_LAND, MPI_BAND}) {
        EXPECT_TRUE(takes(op, MPI_INT));
        EXPECT_EQ(takes(op, MPI_DOUBLE), op == MPI_SUM || op == MPI_MAX);
        EXPECT_EQ(takes(op, MPI_C_DOUBLE_COMPLEX), op == MPI_SUM);
        EXPECT_EQ(takes(op, MPI_INTEGER), op != MPI_LAND);
        EXPECT_FALSE(takes(op, MPI_CHARACTER));
        EXPECT_EQ(takes(op, MPI_LOGICAL), op == MPI_LAND);
        EXPECT_EQ(takes(op, MPI_BYTE), op == MPI_BAND);
    }
    EXPECT_TRUE(takes(MPI_MAXLOC, MPI_2INT));
}

TEST(Tuned, EveryRankIsToldOfAnOperatorThatDoesNotTakeTheType) {
    const Returning returning;
    const double mine = 1.0;
    double result = 0.0;

    for (const auto op : {MPI_BAND, MPI_REPLACE}) {
        const int code = MPI_Reduce(&mine, &result, 1, MPI_DOUBLE, op, 0, returning.comm());
        EXPECT_EQ(class_of(code), MPI_ERR_OP);
    }
}

TEST(Tuned, ThreadsCallAtOnceOnCommunicatorsOfTheirOwn) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
    constexpr std::size_t threads = 3;
    MPI_Comm comms[threads];
    for (auto& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            std::vector<int> blocks(static_cast<std::size_t>(world_size()));
            for (int round = 0; round < 100; ++round) {
                for (auto& block : blocks) block = round + static_cast<int>(t);
                int mine = -1;
                MPI_Scatter(blocks.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, comms[t]);
                if (mine != round + static_cast<int>(t)) ++wrong;
            }
        });
    }
    for (auto& thread : running) thread.join();

    EXPECT_EQ(wrong, 0);
    for (auto& comm : comms) MPI_Comm_free(&comm);
}

TEST(Tuned, TheSizeOfACallIsTheSameOnEveryRank) {
    const bool root = world_rank() == 0;
    CommunicatorState state;
    state.rank = world_rank();
    state.ranks = world_size();
    const Call scatter{.collective = Collective::scatter,
                       .send_count = root ? 5 : -9,
                       .send_type = root ? MPI_DOUBLE : MPI_DATATYPE_NULL,
                       .receive = root ? MPI_IN_PLACE : nullptr,
                       .receive_count = root ? 0 : 40,
                       .receive_type = root ? MPI_DATATYPE_NULL : MPI_BYTE,
                       .root = 0};
    Call gather{.collective = Collective::gather,
                .send = root ? MPI_IN_PLACE : nullptr,
                .send_count = root ? -1 : 2,
                .send_type = root ? MPI_DATATYPE_NULL : MPI_INT,
                .receive_count = root ? 1 : 99,
                .receive_type = root ? MPI_INT64_T : MPI_DATATYPE_NULL,
                .root = 0};

    EXPECT_EQ(message_bytes(scatter, state), 40U);
    EXPECT_EQ(message_bytes(gather, state), 8U);
    gather.root = -1;
    EXPECT_EQ(message_bytes(gather, state), std::nullopt);
}

/* A call that is wrong on this rank has no size, so that the MPI itself is called and complains. */
TEST(Tuned, ARankThatSendsAndReceivesNeedsBothSidesUnlessItIsInPlace) {
    CommunicatorState state;
    state.rank = 1;
    state.ranks = 3;
    for (const auto collective :
         {Collective::scatter, Collective::gather, Collective::allgather, Collective::alltoall}) {
        const Call right{.collective = collective,
                         .send_count = 2,
                         .send_type = MPI_INT,
                         .receive_count = 2,
                         .receive_type = MPI_INT,
                         .root = 1};
        EXPECT_EQ(message_bytes(right, state), 8U) << name_of(collective);

        auto sends_less_than_nothing = right;
        sends_less_than_nothing.send_count = -1;
        EXPECT_EQ(message_bytes(sends_less_than_nothing, state), std::nullopt);
        auto receives_no_type = right;
        receives_no_type.receive_type = MPI_DATATYPE_NULL;
        EXPECT_EQ(message_bytes(receives_no_type, state), std::nullopt);

        auto in_place = right;
        if (collective == Collective::scatter) {
            in_place.receive = MPI_IN_PLACE;
            in_place.receive_type = MPI_DATATYPE_NULL;
        } else {
            in_place.send = MPI_IN_PLACE;
            in_place.send_type = MPI_DATATYPE_NULL;
        }
        EXPECT_EQ(message_bytes(in_place, state), 8U) << name_of(collective);
    }
}

TEST(Tuned, ACallWithBlocksOfDifferentCountsNeedsAllThatTellsWhereTheyLie) {
    CommunicatorState state;
    state.rank = 0;
    state.ranks = 2;
    const int counts[] = {3, 4};
    const int wrong_counts[] = {3, -1};
    const int places[] = {0, 3};
    for (const auto collective :
         {Collective::scatterv, Collective::gatherv, Collective::allgatherv}) {
        const bool scatters = collective == Collective::scatterv;
        const Call right{.collective = collective,
                         .send_count = 3,
                         .send_type = MPI_INT,
                         .receive_count = 3,
                         .receive_type = MPI_INT,
                         .counts = counts,
                         .displacements = places,
                         .root = 0};
        auto without_counts = right;
        without_counts.counts = nullptr;
        auto with_wrong_counts = right;
        with_wrong_counts.counts = wrong_counts;
        auto without_places = right;
        without_places.displacements = nullptr;
        auto without_type = right;
        (scatters ? without_type.send_type : without_type.receive_type) = MPI_DATATYPE_NULL;

        EXPECT_EQ(message_bytes(right, state), 0U) << name_of(collective);
        for (const auto& wrong :
             {without_counts, with_wrong_counts, without_places, without_type}) {
            EXPECT_EQ(message_bytes(wrong, state), std::nullopt) << name_of(collective);
        }
    }
}

/* What is not significant, or describes nothing, may be anything. */
TEST(Tuned, AnUnevenExchangeNeedsBothSidesUnlessItIsInPlace) {
    CommunicatorState state;
    state.rank = 0;
    state.ranks = 2;
    const int counts[] = {3, 0};
    const int wrong_counts[] = {3, -1};
    const int places[] = {0, 3};
    const MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL};
    const MPI_Datatype wrong_types[] = {MPI_DATATYPE_NULL, MPI_INT};
    for (const auto collective : {Collective::alltoallv, Collective::alltoallw}) {
        const bool by_types = collective == Collective::alltoallw;
        Call right{.collective = collective,
                   .counts = counts,
                   .displacements = places,
                   .send_counts = counts,
                   .send_displacements = places};
        if (by_types) {
            right.send_types = right.receive_types = types;
        } else {
            right.send_type = right.receive_type = MPI_INT;
        }
        auto in_place = right;
        in_place.send = MPI_IN_PLACE;
        in_place.send_counts = in_place.send_displacements = nullptr;
        auto without_counts = right;
        without_counts.send_counts = nullptr;
        auto with_wrong_counts = right;
        with_wrong_counts.counts = wrong_counts;
        auto without_places = right;
        without_places.send_displacements = nullptr;
        auto without_type = right;
        without_type.send_type = MPI_DATATYPE_NULL;
        if (by_types) without_type.send_types = wrong_types;
        auto in_no_place = in_place;
        in_no_place.displacements = nullptr;

        EXPECT_EQ(message_bytes(right, state), 0U) << name_of(collective);
        EXPECT_EQ(message_bytes(in_place, state), 0U) << name_of(collective);
        for (const auto& wrong :
             {without_counts, with_wrong_counts, without_places, without_type, in_no_place}) {
            EXPECT_EQ(message_bytes(wrong, state), std::nullopt) << name_of(collective);
        }
    }
}

/* A ring whose edges lead one way; each of them so often. */
class Ring {
  public:
    explicit Ring(int times) {
        const std::vector<int> before(static_cast<std::size_t>(times),
                                      (world_rank() + world_size() - 1) % world_size());
        const std::vector<int> after(before.size(), (world_rank() + 1) % world_size());
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, times, before.data(), MPI_UNWEIGHTED, times,
                                       after.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_);
    }
    ~Ring() { MPI_Comm_free(&comm_); }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    MPI_Comm comm() const { return comm_; }
    int before() const { return (world_rank() + world_size() - 1) % world_size(); }

  private:
    MPI_Comm comm_ = MPI_COMM_NULL;
};

TEST(Tuned, BlocksForANeighborThatIsThereTwiceAreLeftToTheMpi) {
    const Ring ring(2);
    const int mine[2] = {world_rank(), world_rank() + 10};
    int gathered[2] = {-1, -1};
    int exchanged[2] = {-1, -1};

    const int gathers = passed_by(
        [&] { MPI_Neighbor_allgather(mine, 1, MPI_INT, gathered, 1, MPI_INT, ring.comm()); });
    const int exchanges = passed_by(
        [&] { MPI_Neighbor_alltoall(mine, 1, MPI_INT, exchanged, 1, MPI_INT, ring.comm()); });

    EXPECT_EQ(gathers, 0);
    EXPECT_EQ(gathered[0] + gathered[1], 2 * ring.before());
    EXPECT_EQ(exchanges, 1);
    EXPECT_EQ(exchanged[0] + exchanged[1], 2 * ring.before() + 10);
}

TEST(Tuned, ACallWithNeighborsNeedsNoArgumentsForASideThatHasNone) {
    CommunicatorState state;
    state.knows_neighbors = true;
    const Call without_topology{
        .collective = Collective::neighbor_alltoall, .send_type = MPI_INT, .receive_type = MPI_INT};
    EXPECT_EQ(message_bytes(without_topology, state), std::nullopt);

    for (const auto collective : {Collective::neighbor_allgather, Collective::neighbor_alltoall,
                                  Collective::neighbor_alltoallv}) {
        const int counts[] = {1};
        const int wrong_counts[] = {-1};
        Call whole{.collective = collective,
                   .send_count = 1,
                   .send_type = MPI_INT,
                   .receive_count = 1,
                   .receive_type = MPI_INT};
        if (!has_even_blocks(collective)) {
            whole.counts = whole.displacements = counts;
            whole.send_counts = whole.send_displacements = counts;
        }
        auto without_sent = whole;
        without_sent.send_type = MPI_DATATYPE_NULL;
        without_sent.send_counts = nullptr;
        auto with_wrong_count = whole;
        with_wrong_count.receive_count = -1;
        if (whole.counts) with_wrong_count.counts = wrong_counts;
        auto in_place = whole;
        in_place.send = MPI_IN_PLACE;

        state.neighbors = Neighbors{{0}, {0}};
        EXPECT_EQ(message_bytes(whole, state), 0U) << name_of(collective);
        EXPECT_EQ(message_bytes(without_sent, state), std::nullopt) << name_of(collective);
        EXPECT_EQ(message_bytes(with_wrong_count, state), std::nullopt) << name_of(collective);
        EXPECT_EQ(message_bytes(in_place, state), std::nullopt) << name_of(collective);
        state.neighbors = Neighbors{{0}, {}};
        EXPECT_EQ(message_bytes(without_sent, state), 0U) << name_of(collective);
        state.neighbors = Neighbors{{}, {0}};
        EXPECT_EQ(message_bytes(with_wrong_count, state), 0U) << name_of(collective);
    }
}

std::shared_ptr<const model::Platform> platform_of(int ranks) {
    model::Platform platform;
    platform.ranks = ranks;
    return std::make_shared<const model::Platform>(platform);
}

/* Rules that differ in one thing each, in small numbers and in large ones. */
std::vector<Rules> all_kinds_of_rules() {
    const auto *ring = find_algorithm(Collective::bcast, "ring");
    const auto *linear = find_algorithm(Collective::bcast, "linear");
    Rules first;
    first.usable = true;
    first.tuning.layouts = {{.hosts = {0, 0, 1, 1}, .rules = {}}};
    first.tuning.layouts[0].rules[0] = {{.from_bytes = 0, .to_bytes = 99, .algorithm = ring}};
    std::vector<Rules> kinds(13, first);
    for (std::size_t kind = 1; kind < kinds.size(); ++kind) {
        auto& layouts = kinds[kind].tuning.layouts;
        auto& tuning = layouts.front();
        auto& rule = tuning.rules[0].front();
        switch (kind) {
            case 1: rule.from_bytes = 1; break;
            case 2: rule.from_bytes = std::uint64_t{1} << 40; break;
            case 3: rule.to_bytes = 100; break;
            case 4: rule.algorithm = linear; break;
            case 5: rule.segment_bytes = 1024; break;
            case 6: rule.lanes = 2; break;
            case 7: tuning.hosts = {0, 1, 0, 1}; break;
            case 8: tuning.rules[1].swap(tuning.rules[0]); break;
            case 9: tuning.for_every_call = true; break;
            case 10: layouts.push_back({.hosts = {0, 0}, .rules = {}}); break;
            case 11: kinds[kind].platform = platform_of(4); break;
            case 12: kinds[kind].platform = platform_of(8); break;
        }
    }
    return kinds;
}

TEST(Tuned, RulesThatDifferInAnythingHaveDifferentFingerprints) {
    std::set<std::uint64_t> seen;
    for (const auto& rules : all_kinds_of_rules()) {
        EXPECT_EQ(fingerprint_of(rules), fingerprint_of(Rules(rules)));
        EXPECT_TRUE(seen.insert(fingerprint_of(rules)).second) << "kind " << seen.size();
    }
    EXPECT_FALSE(seen.contains(0));
    EXPECT_EQ(fingerprint_of(Rules{}), 0u);
}

TEST(Tuned, TheVersionOfAnMpiIsTheFirstNumberWithAPointInWhatItSaysOfItself) {
    EXPECT_EQ(version_in("Open MPI v4.1.4, package: Debian OpenMPI, May 26, 2022"), "4.1.4");
    EXPECT_EQ(version_in("MPICH ABI 12 Version:      4.0.2"), "4.0.2");
    EXPECT_EQ(version_in("an MPI of 2022"), "");
    EXPECT_EQ(version_in(""), "");
}

/* How many decisions `body` takes. */
template <typename Body>
std::uint64_t decisions_of(const Body& body) {
    const auto before = decision_count();
    body();
    return decision_count() - before;
}

TEST(Tuned, ACallThatRepeatsIsNotDecidedAgain) {
    std::vector<int> blocks(2 * static_cast<std::size_t>(world_size()), 4);
    int mine[2] = {};
    double sum = 0.0;
    double term = 1.0;
    MPI_Request request = MPI_REQUEST_NULL;
    const auto one_round = [&] {
        MPI_Scatter(blocks.data(), 1, MPI_INT, mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatter(blocks.data(), 2, MPI_INT, mine, 2, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatter(blocks.data(), 1, MPI_INT, mine, 1, MPI_INT, 1, MPI_COMM_WORLD);
        MPI_Bcast(mine, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&term, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Ibcast(mine, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    one_round();
    int passed = 0;

    const auto decisions = decisions_of([&] {
        passed = passed_by([&] {
            for (int round = 0; round < 10; ++round) one_round();
        });
    });

    EXPECT_EQ(decisions, 0U);
    EXPECT_EQ(passed, first_of({Collective::bcast, Calling::nonblocking}) ? 0 : 10);
    EXPECT_EQ(mine[0], 4);
}

TEST(Tuned, ASizeWithoutARuleThatRepeatsIsForwardedWithoutADecision) {
    std::vector<char> large(testing::ruled_bcast_bytes + 1, world_rank() == 0 ? 'a' : 'b');
    const auto broadcast = [&] {
        MPI_Bcast(large.data(), static_cast<int>(large.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    };
    EXPECT_EQ(decisions_of(broadcast), 1U);
    int passed = 0;

    const auto decisions = decisions_of([&] {
        passed = passed_by([&] {
            for (int round = 0; round < 10; ++round) broadcast();
        });
    });

    EXPECT_EQ(decisions, 0U);
    EXPECT_EQ(passed, 10);
    EXPECT_EQ(large.back(), 'a');
}

TEST(Tuned, ACallIsDecidedAgainIfAnArgumentIsDifferent) {
    std::vector<int> blocks(2 * static_cast<std::size_t>(world_size()), 4);
    std::vector<int> all(blocks.size());
    const auto gather = [&](int count, MPI_Datatype type, MPI_Comm comm) {
        return decisions_of(
            [&] { MPI_Allgather(blocks.data(), count, type, all.data(), count, type, comm); });
    };
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    gather(1, MPI_INT, MPI_COMM_WORLD);

    EXPECT_EQ(gather(2, MPI_INT, MPI_COMM_WORLD), 1U);
    EXPECT_EQ(gather(1, MPI_FLOAT, MPI_COMM_WORLD), 1U);
    EXPECT_EQ(gather(1, MPI_INT, other), 1U);
    EXPECT_EQ(gather(1, MPI_INT, MPI_COMM_WORLD), 0U);
    MPI_Comm_free(&other);
    EXPECT_EQ(gather(1, MPI_INT, MPI_COMM_WORLD), 1U);
}

TEST(Tuned, ATypeThatIsMadeWithTheHandleOfAFreedOneIsNotTakenForIt) {
    [[maybe_unused]] int handles_that_came_back = 0;
    MPI_Datatype freed = MPI_DATATYPE_NULL;
    for (int integers = 1; integers <= 40; ++integers) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(integers, MPI_INT, &type);
        MPI_Type_commit(&type);
        handles_that_came_back += type == freed ? 1 : 0;
        std::vector<int> numbers(64, world_rank() == 0 ? integers : -1);

        MPI_Bcast(numbers.data(), 1, type, 0, MPI_COMM_WORLD);

        std::vector<int> expected(64, world_rank() == 0 ? integers : -1);
        std::fill_n(expected.begin(), integers, integers);
        ASSERT_EQ(numbers, expected) << integers;
        freed = type;
        MPI_Type_free(&type);
    }

#ifndef LANEWISE_SANITIZES_ADDRESSES  // which keeps what is freed away from those who allocate
    EXPECT_GT(handles_that_came_back, 0);
#endif
}

TEST(Tuned, AnOperatorThatIsMadeWithTheHandleOfAFreedOneIsNotTakenForIt) {
    const auto last = [](void *one, void *other, int *count, MPI_Datatype *) {
        std::copy_n(static_cast<int *>(one), *count, static_cast<int *>(other));
    };
    const auto sum = [](void *one, void *other, int *count, MPI_Datatype *) {
        for (int i = 0; i < *count; ++i) static_cast<int *>(other)[i] += static_cast<int *>(one)[i];
    };
    for (int round = 0; round < 20; ++round) {
        const bool sums = round % 2 == 0;
        MPI_Op op = MPI_OP_NULL;
        MPI_User_function *const function = sums ? +sum : +last;
        MPI_Op_create(function, sums ? 1 : 0, &op);
        const int mine = world_rank() + 1;
        int result = -1;

        MPI_Allreduce(&mine, &result, 1, MPI_INT, op, MPI_COMM_WORLD);

        EXPECT_EQ(result, sums ? world_size() * (world_size() + 1) / 2 : 1) << round;
        MPI_Op_free(&op);
    }
}

TEST(Tuned, ThreadsTakeTurnsOnOneCommunicator) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE) GTEST_SKIP() << "this MPI has no MPI_THREAD_MULTIPLE";
    constexpr int threads = 3;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    std::atomic<int> next{0};
    std::atomic<int> wrong{0};
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
            std::vector<int> blocks(static_cast<std::size_t>(world_size()));
            for (int round = t; round < 100 * threads; round += threads) {
                while (next != round) std::this_thread::yield();
                for (auto& block : blocks) block = round;
                int mine = -1;
                MPI_Scatter(blocks.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, comm);
                if (mine != round) ++wrong;
                if (round % 50 == 0) {
                    MPI_Comm_free(&comm);
                    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
                }
                ++next;
            }
        });
    }
    for (auto& thread : running) thread.join();

    EXPECT_EQ(wrong, 0);
    MPI_Comm_free(&comm);
}

#ifdef LANEWISE_HAS_LARGE_COUNTS
TEST(Tuned, FunctionsWithLargeCountsFollowToo) {
    std::vector<int> blocks(static_cast<std::size_t>(world_size()), 6);
    int mine = 0;

    const int passed = passed_by(
        [&] { MPI_Scatter_c(blocks.data(), 1, MPI_INT, &mine, 1, MPI_INT, 0, MPI_COMM_WORLD); });

    EXPECT_EQ(mine, 6);
    EXPECT_EQ(passed, 0);
}

TEST(Tuned, ALargeCountForEachRankFollowsToo) {
    const auto ranks = static_cast<std::size_t>(world_size());
    std::vector<MPI_Count> counts(ranks);
    std::vector<MPI_Aint> displacements(ranks);
    std::vector<int> expected(2 * ranks * ranks, -1);
    for (std::size_t r = 0; r < ranks; ++r) {
        counts[r] = static_cast<MPI_Count>(r + 1);
        displacements[r] = static_cast<MPI_Aint>(2 * ranks * (ranks - 1 - r));
        for (std::size_t i = 0; i <= r; ++i) {
            expected[2 * ranks * (ranks - 1 - r) + i] = static_cast<int>(r);
        }
    }
    const std::vector<int> mine(static_cast<std::size_t>(world_rank()) + 1, world_rank());
    std::vector<int> given(expected.size(), -1);

    const int passed = passed_by([&] {
        MPI_Allgatherv_c(mine.data(), world_rank() + 1, MPI_INT, given.data(), counts.data(),
                         displacements.data(), MPI_INT, MPI_COMM_WORLD);
    });

    EXPECT_EQ(given, expected);
    EXPECT_EQ(passed, 0);
}

TEST(Tuned, LargeCountsAndFarPlacesOfBlocksForNeighborsFollowToo) {
    const Ring ring(1);
    const int mine[3] = {-1, -1, world_rank()};
    int given[4] = {-1, -1, -1, -1};
    const MPI_Count one[] = {1};
    const MPI_Aint third[] = {8};
    const MPI_Aint second[] = {4};
    const MPI_Datatype types[] = {MPI_INT};

    const int passed = passed_by([&] {
        MPI_Neighbor_alltoallw_c(mine, one, third, types, given, one, second, types, ring.comm());
    });

    EXPECT_EQ(std::vector<int>(given, given + 4), (std::vector<int>{-1, ring.before(), -1, -1}));
    EXPECT_EQ(passed, 0);
}
#endif

}  // namespace
}  // namespace lanewise::tuned
