// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of collectives, on the ranks of a real MPI: algorithms by name and with options,
// blocking calls and calls in flight.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lanewise/collectives.h>
#include <lanewise/fortran.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "collectives/algorithm.hpp"
#include "testing/measuring.hpp"

namespace {

using lanewise::testing::rank_of;
using lanewise::testing::size_of;

struct Free {
    void operator()(lw_algorithm *algorithm) const { lw_algorithm_free(algorithm); }
};
using Algorithm = std::unique_ptr<lw_algorithm, Free>;

Algorithm named(const char *collective, const char *name) {
    lw_algorithm *algorithm = nullptr;
    lw_algorithm_named(collective, name, 0, &algorithm);
    return Algorithm(algorithm);
}

Algorithm existing(const char *collective, const char *name) {
    auto algorithm = named(collective, name);
    EXPECT_TRUE(algorithm) << collective << " " << name;
    return algorithm;
}

std::vector<int> blocks_of_root() {
    std::vector<int> blocks(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)));
    std::iota(blocks.begin(), blocks.end(), 100);
    return blocks;
}

TEST(Collectives, AScatterByNameDeliversEachRankItsBlock) {
    const auto binomial = named("scatter", "binomial");
    const auto blocks = blocks_of_root();
    int received = 0;

    const auto status = lw_scatter(blocks.data(), 1, MPI_INT, &received, 1, MPI_INT, 0,
                                   MPI_COMM_WORLD, binomial.get());

    EXPECT_EQ(status, LW_OK);
    EXPECT_EQ(received, 100 + rank_of(MPI_COMM_WORLD));
}

TEST(Collectives, ARootThatIsNoRankAndAVectorWithoutATypeAreRefused) {
    const auto broadcast = named("bcast", "binomial");
    const auto scatter = named("scatter", "linear");
    const auto reduce = named("reduce", "binomial");
    const auto sum = named("allreduce", "recursive_doubling");
    const auto blocks = blocks_of_root();
    const int ranks = size_of(MPI_COMM_WORLD);
    const double mine = 1;
    double result = 7;
    int value = 3;
    lw_pending *pending = nullptr;

    for (const int root : {-1, ranks, 99}) {
        EXPECT_EQ(lw_bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD, broadcast.get()),
                  LW_ERR_ARGUMENT);
        EXPECT_EQ(lw_scatter(blocks.data(), 1, MPI_INT, &value, 1, MPI_INT, root, MPI_COMM_WORLD,
                             scatter.get()),
                  LW_ERR_ARGUMENT);
        EXPECT_EQ(lw_ibcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD, broadcast.get(), &pending),
                  LW_ERR_ARGUMENT);
        EXPECT_EQ(
            lw_reduce(&mine, &result, 1, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD, reduce.get()),
            LW_ERR_ARGUMENT);
    }
    EXPECT_EQ(lw_bcast(&value, 4, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, broadcast.get()),
              LW_ERR_ARGUMENT);
    EXPECT_EQ(
        lw_allreduce(&mine, &result, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD, sum.get()),
        LW_ERR_ARGUMENT);

    EXPECT_EQ(value, 3);
    EXPECT_EQ(result, 7);
    EXPECT_EQ(pending, nullptr);
}

TEST(Collectives, CountsBelowZeroAreRefusedWhereTheyAreLookedAt) {
    const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
    const int me = rank_of(MPI_COMM_WORLD);
    const std::vector<int> places(ranks, 0);
    std::vector<int> counts(ranks, 0);
    counts.back() = -1;
    const std::vector<MPI_Datatype> types(ranks, MPI_INT);
    std::vector<int> in(ranks, 3);
    std::vector<int> out(ranks, 7);
    const auto *from = in.data();
    auto *to = out.data();
    const auto *bad = counts.data();
    const auto *at = places.data();
    const auto world = MPI_COMM_WORLD;
    lw_pending *pending = nullptr;
    const auto refused = [](lw_status status) { EXPECT_EQ(status, LW_ERR_ARGUMENT); };

    refused(lw_bcast(to, -1, MPI_INT, 0, world, existing("bcast", "binomial").get()));
    refused(lw_scatter(from, -1, MPI_INT, to, -1, MPI_INT, 0, world,
                       existing("scatter", "linear").get()));
    refused(lw_scatterv(from, bad, at, MPI_INT, to, me == 0 ? 1 : -1, MPI_INT, 0, world,
                        existing("scatterv", "linear").get()));
    refused(lw_gather(from, -1, MPI_INT, to, -1, MPI_INT, 0, world,
                      existing("gather", "linear").get()));
    refused(lw_gatherv(from, me == 0 ? 1 : -1, MPI_INT, to, bad, at, MPI_INT, 0, world,
                       existing("gatherv", "linear").get()));
    refused(lw_allgather(from, 1, MPI_INT, to, -1, MPI_INT, world,
                         existing("allgather", "ring").get()));
    refused(lw_allgatherv(from, 1, MPI_INT, to, bad, at, MPI_INT, world,
                          existing("allgatherv", "ring").get()));
    refused(
        lw_alltoall(from, -1, MPI_INT, to, 1, MPI_INT, world, existing("alltoall", "bruck").get()));
    refused(lw_alltoallv(from, at, at, MPI_INT, to, bad, at, MPI_INT, world,
                         existing("alltoallv", "pairwise").get()));
    refused(lw_alltoallw(from, bad, at, types.data(), to, at, at, types.data(), world,
                         existing("alltoallw", "pairwise").get()));
    refused(
        lw_reduce(from, to, -1, MPI_INT, MPI_SUM, 0, world, existing("reduce", "linear").get()));
    refused(lw_reduce_scatter(from, to, bad, MPI_INT, MPI_SUM, world,
                              existing("reduce_scatter", "ring").get()));
    refused(lw_scan(from, to, -1, MPI_INT, MPI_SUM, world, existing("scan", "linear").get()));
    refused(lw_iallreduce(from, to, -1, MPI_INT, MPI_SUM, world,
                          existing("allreduce", "binomial").get(), &pending));

    EXPECT_EQ(out, std::vector<int>(ranks, 7));
    EXPECT_EQ(pending, nullptr);
}

TEST(Collectives, ArraysThatAreNotThereAreRefusedWhereTheyAreLookedAt) {
    const std::vector<int> some(static_cast<std::size_t>(size_of(MPI_COMM_WORLD)), 1);
    const auto scatter = existing("scatterv", "linear");
    const auto exchange = existing("alltoallw", "pairwise");
    const auto reduce = existing("reduce_scatter", "ring");
    int value = 3;

    EXPECT_EQ(
        lw_reduce_scatter(&value, &value, nullptr, MPI_INT, MPI_SUM, MPI_COMM_WORLD, reduce.get()),
        LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_alltoallw(&value, some.data(), some.data(), nullptr, &value, some.data(),
                           some.data(), nullptr, MPI_COMM_WORLD, exchange.get()),
              LW_ERR_ARGUMENT);
    const lanewise::testing::Communicator alone(
        lanewise::testing::split_of(MPI_COMM_WORLD, rank_of(MPI_COMM_WORLD)));
    EXPECT_EQ(lw_scatterv(&value, some.data(), nullptr, MPI_INT, &value, 1, MPI_INT, 0, alone.get(),
                          scatter.get()),
              LW_ERR_ARGUMENT);
}

TEST(Collectives, WhatIsNotLookedAtOnARankMayBeAnything) {
    const int me = rank_of(MPI_COMM_WORLD);
    const auto blocks = blocks_of_root();
    const std::vector<int> ones(blocks.size(), 1);
    std::vector<int> places(blocks.size());
    std::iota(places.begin(), places.end(), 0);
    std::vector<int> gathered(blocks.size());
    const bool root = me == 0;
    int received = 0;

    EXPECT_EQ(lw_scatterv(blocks.data(), root ? ones.data() : nullptr,
                          root ? places.data() : nullptr, MPI_INT, &received, 1, MPI_INT, 0,
                          MPI_COMM_WORLD, existing("scatterv", "linear").get()),
              LW_OK);
    EXPECT_EQ(received, 100 + me);
    EXPECT_EQ(lw_gather(&received, 1, MPI_INT, gathered.data(), root ? 1 : -5, MPI_INT, 0,
                        MPI_COMM_WORLD, existing("gather", "linear").get()),
              LW_OK);
    EXPECT_TRUE(!root || gathered == blocks);
    EXPECT_EQ(lw_allgather(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, gathered.data(), 1, MPI_INT,
                           MPI_COMM_WORLD, existing("allgather", "ring").get()),
              LW_OK);
}

/* Rank r gives rank s r + 1 numbers 100 * r + s, behind a gap of one. */
TEST(Collectives, AnUnevenExchangeDeliversBlocksOfOtherCountsFromEachRank) {
    const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
    const int rank = rank_of(MPI_COMM_WORLD);
    const std::vector<int> send_counts(ranks, rank + 1);
    const std::vector<MPI_Datatype> types(ranks, MPI_INT);
    std::vector<int> send_places(ranks);
    std::vector<int> counts(ranks);
    std::vector<int> places(ranks);
    std::vector<int> given;
    std::vector<int> wanted;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
        given.push_back(-1);
        send_places[peer] = static_cast<int>(given.size());
        given.insert(given.end(), static_cast<std::size_t>(rank) + 1,
                     100 * rank + static_cast<int>(peer));
        wanted.push_back(-1);
        places[peer] = static_cast<int>(wanted.size());
        counts[peer] = static_cast<int>(peer) + 1;
        wanted.insert(wanted.end(), peer + 1, 100 * static_cast<int>(peer) + rank);
    }
    std::vector<int> received(wanted.size(), -1);

    EXPECT_EQ(lw_alltoallv(given.data(), send_counts.data(), send_places.data(), MPI_INT,
                           received.data(), counts.data(), places.data(), MPI_INT, MPI_COMM_WORLD,
                           named("alltoallv", "pairwise").get()),
              LW_OK);
    EXPECT_EQ(received, wanted);

    for (auto *in_bytes : {&send_places, &places}) {
        for (auto& place : *in_bytes) place *= static_cast<int>(sizeof(int));
    }
    received.assign(wanted.size(), -1);
    EXPECT_EQ(lw_alltoallw(given.data(), send_counts.data(), send_places.data(), types.data(),
                           received.data(), counts.data(), places.data(), types.data(),
                           MPI_COMM_WORLD, named("alltoallw", "scattered:4").get()),
              LW_OK);
    EXPECT_EQ(received, wanted);
}

TEST(Collectives, CallsInFlightDoNotMixUpTheirMessages) {
    const auto binomial = named("scatter", "binomial");
    const auto linear = named("scatter", "linear");
    const auto blocks = blocks_of_root();
    const std::vector<int> others(blocks.size(), -7);
    int first = 0;
    int second = 0;
    lw_pending *one = nullptr;
    lw_pending *two = nullptr;

    lw_iscatter(blocks.data(), 1, MPI_INT, &first, 1, MPI_INT, 0, MPI_COMM_WORLD, binomial.get(),
                &one);
    lw_iscatter(others.data(), 1, MPI_INT, &second, 1, MPI_INT, 0, MPI_COMM_WORLD, linear.get(),
                &two);
    // A rank may wait in another order than it started in, as long as it gives both a chance.
    for (int done = 0; !done;) {
        lw_pending_test(one, &done);
        lw_pending_test(two, &done);
    }
    EXPECT_EQ(lw_pending_wait(&two), LW_OK);
    EXPECT_EQ(lw_pending_wait(&one), LW_OK);

    EXPECT_EQ(first, 100 + rank_of(MPI_COMM_WORLD));
    EXPECT_EQ(second, -7);
    EXPECT_EQ(one, nullptr);
}

TEST(Collectives, ACallThatHasEndedLeavesItsBufferAloneHoweverOftenItIsTested) {
    const auto linear = named("bcast", "linear");
    MPI_Datatype every_other = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    std::vector<int> values = {4, 5, 6};
    lw_pending *pending = nullptr;
    lw_ibcast(values.data(), 1, every_other, 0, MPI_COMM_WORLD, linear.get(), &pending);
    for (int done = 0; !done;) lw_pending_test(pending, &done);

    values = {1, 2, 3};
    int done = 0;
    lw_pending_test(pending, &done);

    EXPECT_EQ(done, 1);
    EXPECT_EQ(values, (std::vector<int>{1, 2, 3}));
    lw_pending_wait(&pending);
    MPI_Type_free(&every_other);
}

MPI_Datatype type_seen = MPI_DATATYPE_NULL;

void add_pairs(void *left, void *right, int *count, MPI_Datatype *type) {
    type_seen = *type;
    for (int i = 0; i < 2 * *count; ++i)
        static_cast<int *>(right)[i] += static_cast<const int *>(left)[i];
}

TEST(Collectives, AnOperatorIsGivenTheTypeThatTheProgramPassed) {
    const auto algorithm = named("allreduce", "recursive_doubling");
    const int ranks = size_of(MPI_COMM_WORLD);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Op add = MPI_OP_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_pairs, 1, &add);
    const int own[] = {1, 2};
    std::vector<int> sums(2, 0);
    lw_pending *pending = nullptr;

    EXPECT_EQ(
        lw_iallreduce(own, sums.data(), 1, pair, add, MPI_COMM_WORLD, algorithm.get(), &pending),
        LW_OK);
    EXPECT_EQ(lw_pending_wait(&pending), LW_OK);

    EXPECT_EQ(sums, (std::vector<int>{ranks, 2 * ranks}));
    // A rank may have nothing to combine, but not each of two.
    EXPECT_TRUE(type_seen == pair || (type_seen == MPI_DATATYPE_NULL && ranks != 2));
    MPI_Op_free(&add);
    MPI_Type_free(&pair);
}

TEST(Collectives, NothingToWaitForIsRefused) {
    lw_pending *none = nullptr;
    int done = 7;

    EXPECT_EQ(lw_pending_wait(nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_pending_wait(&none), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_pending_test(nullptr, &done), LW_ERR_ARGUMENT);

    EXPECT_EQ(done, 7);
}

TEST(Collectives, StateDiesWithItsCommunicatorAndANewOneStartsAfresh) {
    const auto linear = named("scatter", "linear");
    const auto blocks = blocks_of_root();
    for (int i = 0; i < 100; ++i) {
        const lanewise::testing::Communicator comm(
            lanewise::testing::split_of(MPI_COMM_WORLD, i % 2 == 0 ? 0 : rank_of(MPI_COMM_WORLD)));
        int received = 0;
        const auto status = lw_scatter(blocks.data(), 1, MPI_INT, &received, 1, MPI_INT, 0,
                                       comm.get(), linear.get());
        EXPECT_EQ(status, LW_OK);
        EXPECT_EQ(received, 100 + rank_of(comm.get()));
    }
}

TEST(Collectives, ATreeOfARadixThatIsNotListedDelivers) {
    for (const char *name : {"knomial:2", "knomial:5", "knomial:64"}) {
        lw_algorithm *made = nullptr;
        ASSERT_EQ(lw_algorithm_named("bcast", name, 0, &made), LW_OK);
        const int last = size_of(MPI_COMM_WORLD) - 1;
        int word = rank_of(MPI_COMM_WORLD) == last ? 57 : -1;

        EXPECT_EQ(lw_bcast(&word, 1, MPI_INT, last, MPI_COMM_WORLD, made), LW_OK);

        EXPECT_EQ(word, 57) << name;
        lw_algorithm_free(made);
    }
}

TEST(Collectives, AnUnknownNameIsNotFoundAndChangesNothing) {
    lw_algorithm *algorithm = nullptr;

    EXPECT_EQ(lw_algorithm_named("scatter", "wishful", 0, &algorithm), LW_ERR_NOT_FOUND);
    EXPECT_EQ(lw_algorithm_named("shuffle", "linear", 0, &algorithm), LW_ERR_NOT_FOUND);

    EXPECT_EQ(algorithm, nullptr);
}

TEST(Collectives, AnAlgorithmNeedsACollectiveANameAPlaceAndASegmentInRange) {
    lw_algorithm *algorithm = nullptr;
    constexpr std::uint64_t too_long = std::uint64_t{INT64_MAX} + 1;

    EXPECT_EQ(lw_algorithm_named(nullptr, "linear", 0, &algorithm), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_algorithm_named("scatter", nullptr, 0, &algorithm), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_algorithm_named("scatter", "linear", 0, nullptr), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_algorithm_named("scatter", "linear", too_long, &algorithm), LW_ERR_ARGUMENT);

    EXPECT_EQ(algorithm, nullptr);
}

Algorithm in_one_order(const char *collective, const char *name) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.bits = LW_BITS_ORDER;
    lw_algorithm *algorithm = nullptr;
    lw_algorithm_with(collective, name, &options, &algorithm);
    return Algorithm(algorithm);
}

/* What rank `rank` adds: with them, (x0 + x1) + x2 is not x0 + (x1 + x2). */
std::vector<double> operands_of(int rank, int count) {
    std::vector<double> operands;
    for (int i = 0; i < count; ++i) {
        operands.push_back(rank == 0 ? 1e16 + 2 * i : rank == 1 ? 1.0 : -1e16);
    }
    return operands;
}

std::vector<double> summed_from_the_left(int ranks, int count) {
    auto sums = operands_of(0, count);
    for (int rank = 1; rank < ranks; ++rank) {
        const auto operands = operands_of(rank, count);
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += operands[i];
    }
    return sums;
}

// The left operand, so that the order of two can be seen.
void take_left(void *left, void *right, int *count, MPI_Datatype *) {
    std::copy_n(static_cast<const double *>(left), *count, static_cast<double *>(right));
}

TEST(Collectives, OneOrderHoldsForOperatorsThatDoNotCommuteAtAnySize) {
    const auto algorithm = in_one_order("allreduce", nullptr);
    MPI_Op leftmost = MPI_OP_NULL;
    MPI_Op_create(take_left, 0, &leftmost);
    for (const int count : {1, 2049, 32768, 32769, 131072, 131073, 524289}) {
        const std::vector<double> own(static_cast<std::size_t>(count), rank_of(MPI_COMM_WORLD));
        std::vector<double> first(own.size(), -1);

        EXPECT_EQ(lw_allreduce(own.data(), first.data(), count, MPI_DOUBLE, leftmost,
                               MPI_COMM_WORLD, algorithm.get()),
                  LW_OK);

        EXPECT_EQ(first, std::vector<double>(own.size(), 0.0)) << count;
    }
    MPI_Op_free(&leftmost);
}

TEST(Collectives, AnAllreduceInOneOrderHasTheSameBitsByAnyAlgorithmAtAnySize) {
    const int ranks = size_of(MPI_COMM_WORLD);
    for (const char *name : {static_cast<const char *>(nullptr), "binomial", "direct",
                             "rabenseifner", "recursive_doubling"}) {
        const auto algorithm = in_one_order("allreduce", name);
        for (const int count : {1, 2047, 2048, 2049, 9000, 32768, 32769, 131072, 131073}) {
            const auto own = operands_of(rank_of(MPI_COMM_WORLD), count);
            std::vector<double> sums(own.size());

            const auto status = lw_allreduce(own.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM,
                                             MPI_COMM_WORLD, algorithm.get());

            EXPECT_EQ(status, LW_OK);
            EXPECT_EQ(sums, summed_from_the_left(ranks, count)) << (name ? name : "") << count;
        }
    }
}

TEST(Collectives, InOneOrderANanLosesItsPayloadAndZerosHaveAnOrder) {
    if (size_of(MPI_COMM_WORLD) < 2)
        GTEST_SKIP() << "needs two ranks"; /* One rank combines nothing. */
    const auto sum = in_one_order("allreduce", nullptr);
    const bool first = rank_of(MPI_COMM_WORLD) == 0;
    const double own[] = {first ? -std::nan("0x123") : 1.0, first ? 0.0 : -0.0};
    double sums[2] = {};
    double least[2] = {};

    lw_allreduce(own, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, sum.get());
    lw_allreduce(own, least, 2, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD, sum.get());

    const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
    const auto nan = bits(std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(bits(sums[0]), nan);
    EXPECT_EQ(bits(least[0]), nan);
    EXPECT_EQ(bits(least[1]), bits(-0.0));
}

TEST(Collectives, ACallInFlightAndAReduceScatterKeepTheOrderToo) {
    const int ranks = size_of(MPI_COMM_WORLD);
    const int me = rank_of(MPI_COMM_WORLD);
    const int count = 3 * ranks;
    const auto own = operands_of(me, count);
    const auto expected = summed_from_the_left(ranks, count);
    std::vector<double> sums(own.size());
    std::vector<double> block(3);
    const std::vector<int> counts(static_cast<std::size_t>(ranks), 3);
    const auto reduce = in_one_order("reduce", nullptr);
    const auto scatter = in_one_order("reduce_scatter", nullptr);
    lw_pending *pending = nullptr;

    lw_ireduce(own.data(), sums.data(), count, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD,
               reduce.get(), &pending);
    EXPECT_EQ(lw_pending_wait(&pending), LW_OK);
    const auto status = lw_reduce_scatter(own.data(), block.data(), counts.data(), MPI_DOUBLE,
                                          MPI_SUM, MPI_COMM_WORLD, scatter.get());

    EXPECT_EQ(status, LW_OK);
    EXPECT_TRUE(me != ranks - 1 || sums == expected);
    EXPECT_EQ(block, std::vector<double>(expected.begin() + 3 * me, expected.begin() + 3 * me + 3));
}

// A block that is longer than those before it together lies, at its end, over where it was.
TEST(Collectives, AnUnevenReduceScatterInPlaceHasTheSameBitsAsApart) {
    const int ranks = size_of(MPI_COMM_WORLD);
    const auto me = static_cast<std::size_t>(rank_of(MPI_COMM_WORLD));
    std::vector<int> counts;
    for (int rank = 0; rank < ranks; ++rank) counts.push_back(rank == 0 ? 5 : 500 * rank);
    const int count = std::accumulate(counts.begin(), counts.end(), 0);
    const auto first = std::accumulate(counts.begin(), counts.begin() + rank_of(MPI_COMM_WORLD), 0);
    const auto expected = summed_from_the_left(ranks, count);
    auto block = operands_of(rank_of(MPI_COMM_WORLD), count);
    const auto scatter = in_one_order("reduce_scatter", nullptr);

    const auto status = lw_reduce_scatter(MPI_IN_PLACE, block.data(), counts.data(), MPI_DOUBLE,
                                          MPI_SUM, MPI_COMM_WORLD, scatter.get());

    EXPECT_EQ(status, LW_OK);
    block.resize(static_cast<std::size_t>(counts[me]));
    EXPECT_EQ(block,
              std::vector<double>(expected.begin() + first, expected.begin() + first + counts[me]));
}

TEST(Collectives, OneOrderIsRefusedForAlgorithmsAndCollectivesThatHaveNone) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.bits = LW_BITS_ORDER;
    lw_algorithm *algorithm = nullptr;

    EXPECT_EQ(lw_algorithm_with("reduce", "linear", &options, &algorithm), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_algorithm_with("scatter", "linear", &options, &algorithm), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_algorithm_with("scatter", nullptr, &options, &algorithm), LW_ERR_UNSUPPORTED);
    EXPECT_EQ(lw_algorithm_with("reduce", "wishful", &options, &algorithm), LW_ERR_NOT_FOUND);

    EXPECT_EQ(algorithm, nullptr);
}

TEST(Collectives, OptionsOfAnotherSizeAreRefusedAndNoneAreTheDefaults) {
    lw_algorithm_options older = LW_ALGORITHM_OPTIONS;
    older.struct_size = 8;
    lw_algorithm *algorithm = nullptr;

    EXPECT_EQ(lw_algorithm_with("reduce", "binomial", &older, &algorithm), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_algorithm_with("reduce", nullptr, nullptr, &algorithm), LW_ERR_ARGUMENT);
    EXPECT_EQ(algorithm, nullptr);
    EXPECT_EQ(lw_algorithm_with("reduce", "linear", nullptr, &algorithm), LW_OK);

    lw_algorithm_free(algorithm);
}

TEST(Collectives, AnAlgorithmOfAnotherCollectiveIsRefused) {
    const auto linear = named("scatter", "linear");

    EXPECT_EQ(lw_barrier(MPI_COMM_WORLD, linear.get()), LW_ERR_ARGUMENT);
    EXPECT_EQ(lw_barrier(MPI_COMM_WORLD, nullptr), LW_ERR_ARGUMENT);
}

TEST(Collectives, WhatAnAlgorithmJustDidForItsOwnCollectiveItIsRefusedForAnother) {
    const auto gather = named("gather", "linear");
    auto blocks = blocks_of_root();
    const int sent = 7;
    EXPECT_EQ(
        lw_gather(&sent, 1, MPI_INT, blocks.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, gather.get()),
        LW_OK);

    const auto status =
        lw_scatter(&sent, 1, MPI_INT, blocks.data(), 1, MPI_INT, 0, MPI_COMM_WORLD, gather.get());

    EXPECT_EQ(status, LW_ERR_ARGUMENT);
}

std::vector<std::string> told;

void note(void * /*context*/, lw_status /*status*/, const char *sentence) {
    told.emplace_back(sentence);
}

/* An algorithm that tells why. */
Algorithm telling(const char *collective, const char *name) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.report = note;
    lw_algorithm *algorithm = nullptr;
    EXPECT_EQ(lw_algorithm_with(collective, name, &options, &algorithm), LW_OK);
    return Algorithm(algorithm);
}

/* The only sentence about a call that cannot be made. */
std::string said_of(lw_status status) {
    EXPECT_EQ(status, LW_ERR_ARGUMENT);
    const auto sentences = std::exchange(told, {});
    EXPECT_EQ(sentences.size(), 1u);
    return sentences.empty() ? "" : sentences.front();
}

TEST(Collectives, ACallThatCannotBeMadeIsToldWhyOnTheRankThatMakesIt) {
    const auto broadcast = telling("bcast", "binomial");
    const auto scatterv = telling("scatterv", "linear");
    const auto allreduce = telling("allreduce", "ring");
    const auto self = MPI_COMM_SELF;
    const int count = 1;
    int value = 0;
    lw_pending *pending = nullptr;

    EXPECT_EQ(said_of(lw_bcast(&value, 1, MPI_INT, 5, self, broadcast.get())),
              "root 5 is outside the communicator of 1 rank; ranks count from 0");
    EXPECT_EQ(said_of(lw_ibcast(&value, 1, MPI_INT, -1, self, broadcast.get(), &pending)),
              "root -1 is outside the communicator of 1 rank; ranks count from 0");
    EXPECT_EQ(said_of(lw_ibcast(&value, 1, MPI_INT, 0, self, broadcast.get(), nullptr)),
              "pending must not be NULL");
    EXPECT_EQ(said_of(lw_bcast(&value, -1, MPI_INT, 0, self, broadcast.get())),
              "rank 0 gives a count below 0");
    EXPECT_EQ(said_of(lw_scatterv(&value, &count, nullptr, MPI_INT, &value, 1, MPI_INT, 0, self,
                                  scatterv.get())),
              "rank 0 gives no displacements");
    EXPECT_EQ(said_of(lw_bcast(&value, 1, MPI_DATATYPE_NULL, 0, self, broadcast.get())),
              "rank 0 gives MPI_DATATYPE_NULL as the datatype");
    EXPECT_EQ(said_of(lw_barrier(self, broadcast.get())),
              "the algorithm is one of bcast; make one of barrier");
    EXPECT_EQ(said_of(lw_bcast(&value, 1, MPI_INT, 0, MPI_COMM_NULL, broadcast.get())),
              "the communicator is MPI_COMM_NULL; call only on the ranks that are in it");
    EXPECT_EQ(said_of(lw_allreduce(&value, &value, -1, MPI_INT, MPI_SUM, self, allreduce.get())),
              "rank 0 gives a count below 0");
    EXPECT_EQ(pending, nullptr);
}

TEST(Collectives, EachRankThatMakesACallThatCannotBeMadeIsToldWhy) {
    const auto broadcast = telling("bcast", "binomial");
    const int ranks = size_of(MPI_COMM_WORLD);
    const int me = rank_of(MPI_COMM_WORLD);
    int value = 0;

    const auto of_root =
        said_of(lw_bcast(&value, 1, MPI_INT, ranks, MPI_COMM_WORLD, broadcast.get()));
    const auto of_count =
        said_of(lw_bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD, broadcast.get()));

    EXPECT_THAT(of_root, ::testing::StartsWith("root " + std::to_string(ranks) + " is outside"));
    EXPECT_EQ(of_count, "rank " + std::to_string(me) + " gives a count below 0");
}

TEST(Collectives, WhatIsNotServedIsToldOnTheFirstRankOnly) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.bits = LW_BITS_RANKS;
    options.report = note;
    lw_algorithm *exact = nullptr;
    ASSERT_EQ(lw_algorithm_with("allreduce", nullptr, &options, &exact), LW_OK);
    const Algorithm owned(exact);
    const long double mine = 1;
    long double sum = 0;

    const auto status =
        lw_allreduce(&mine, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD, exact);

    EXPECT_EQ(status, LW_ERR_UNSUPPORTED);
    EXPECT_EQ(std::exchange(told, {}).size(), rank_of(MPI_COMM_WORLD) == 0 ? 1u : 0u);
}

TEST(Collectives, AnErrorOfTheMpiIsTold) {
    if (size_of(MPI_COMM_WORLD) < 2) GTEST_SKIP() << "needs two ranks"; /* One combines nothing. */
    const auto allreduce = telling("allreduce", "recursive_doubling");
    const lanewise::testing::ReturnedErrors returned;
    const double mine = 1;
    double found = 0;

    // No MPI knows the place of a number by itself.
    const auto status =
        lw_allreduce(&mine, &found, 1, MPI_DOUBLE, MPI_MAXLOC, MPI_COMM_WORLD, allreduce.get());

    EXPECT_EQ(status, LW_ERR_MPI);
    EXPECT_EQ(std::exchange(told, {}), std::vector<std::string>{lw_status_text(LW_ERR_MPI)});
}

TEST(Collectives, AReportThatThrowsIsCalledOnce) {
    int calls = 0;
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.report_context = &calls;
    options.report = [](void *context, lw_status /*status*/, const char * /*sentence*/) {
        ++*static_cast<int *>(context);
        throw std::runtime_error("nobody listens");
    };
    lw_algorithm *linear = nullptr;
    ASSERT_EQ(lw_algorithm_with("bcast", "linear", &options, &linear), LW_OK);
    const Algorithm owned(linear);
    int value = 0;

    EXPECT_THROW(lw_bcast(&value, 1, MPI_INT, -1, MPI_COMM_SELF, linear), std::runtime_error);
    EXPECT_EQ(calls, 1);
}

TEST(Collectives, ANullIsToldWhereAnAlgorithmIsMade) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.report = note;
    lw_algorithm *algorithm = nullptr;

    EXPECT_EQ(said_of(lw_algorithm_with(nullptr, "linear", &options, &algorithm)),
              "collective must not be NULL");
    EXPECT_EQ(said_of(lw_algorithm_with("bcast", "linear", &options, nullptr)),
              "algorithm must not be NULL");
}

/* What Fortran makes of a section with gaps. */
TEST(Collectives, ABufferOfFortranWithGapsIsTold) {
    const auto barrier = telling("barrier", "dissemination");
    const lw_fortran_call with_gaps{};

    EXPECT_EQ(said_of(lw_collective_fortran("barrier", &with_gaps, barrier.get())),
              "a buffer is a section with gaps; pass a copy, or the array and a derived type");
}

TEST(Collectives, ACommunicatorBetweenTwoGroupsIsRefused) {
    if (size_of(MPI_COMM_WORLD) < 2)
        GTEST_SKIP() << "needs two ranks"; /* One rank makes no two groups. */
    const auto linear = telling("bcast", "linear");
    const int side = rank_of(MPI_COMM_WORLD) == 0 ? 0 : 1;
    const lanewise::testing::Communicator group(lanewise::testing::split_of(MPI_COMM_WORLD, side));
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Intercomm_create(group.get(), 0, MPI_COMM_WORLD, 1 - side, 0, &between);
    int value = 0;

    const auto sentence = said_of(lw_bcast(&value, 1, MPI_INT, 0, between, linear.get()));

    EXPECT_EQ(sentence, "intercommunicators are not served; use the function of the MPI");
    MPI_Comm_free(&between);
}

TEST(Collectives, TheListEndsWithNullAndEveryNameOnItIsFound) {
    size_t count = 0;
    for (; lw_algorithm_name(count); ++count) {
        EXPECT_TRUE(named(lw_algorithm_collective(count), lw_algorithm_name(count)));
    }

    EXPECT_EQ(count, lanewise::collectives::algorithms().size());
    EXPECT_EQ(lw_algorithm_collective(count), nullptr);
}

}  // namespace
