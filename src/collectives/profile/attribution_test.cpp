// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting, transfer and lateness against the definitions, spelled out rank by rank, for every order
// of arrival of few ranks and for random calls of many.

#include "collectives/profile/attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "collectives/profile/clock_line.hpp"

namespace lanewise::profile {
namespace {

using collectives::Collective;
using ::testing::SizeIs;

constexpr WaitsFor every_rule[] = {WaitsFor::everybody, WaitsFor::the_root, WaitsFor::the_others,
                                   WaitsFor::the_lower};

bool waits(WaitsFor rule, int waiter, int other, int root) {
    if (waiter == other) return false;
    if (rule == WaitsFor::everybody) return true;
    if (rule == WaitsFor::the_lower) return other < waiter;
    return rule == WaitsFor::the_root ? other == root : waiter == root;
}

/* Pair by pair, as the definitions have it. Ranks that come last together share one name: the
   lowest. */
template <typename Waits>
std::vector<Share> by_definition(const Waits& is_waiting, const std::vector<CallTimes>& times) {
    const int ranks = static_cast<int>(times.size());
    const auto times_of = [&](int rank) { return times[static_cast<std::size_t>(rank)]; };
    std::vector<Share> shares(times.size());
    for (int waiter = 0; waiter < ranks; ++waiter) {
        const auto entry_ns = times_of(waiter).entry_ns;
        const auto exit_ns = times_of(waiter).exit_ns;
        std::int64_t waiting_ns = 0;
        int last = -1;
        for (int other = 0; other < ranks; ++other) {
            if (!is_waiting(waiter, other)) continue;
            const auto until_ns = std::min(times_of(other).entry_ns, exit_ns);
            waiting_ns = std::max(waiting_ns, until_ns - entry_ns);
            if (last < 0 || times_of(other).entry_ns > times_of(last).entry_ns) last = other;
            auto& lateness_ns = shares[static_cast<std::size_t>(other)].lateness_ns;
            lateness_ns = std::max(lateness_ns, times_of(other).entry_ns - entry_ns);
        }
        auto& mine = shares[static_cast<std::size_t>(waiter)];
        mine.waiting_ns = waiting_ns;
        mine.transfer_ns = exit_ns - entry_ns - waiting_ns;
        if (last >= 0) shares[static_cast<std::size_t>(last)].awaited_ns += waiting_ns;
    }
    return shares;
}

std::vector<Share> by_definition(WaitsFor rule, int root, const std::vector<CallTimes>& times) {
    return by_definition([&](int waiter, int other) { return waits(rule, waiter, other, root); },
                         times);
}

TEST(Attribution, IsThatOfTheDefinitionsForEveryOrderOfArrivalOfUpToFiveRanks) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
        std::vector<int> order(static_cast<std::size_t>(ranks));
        std::iota(order.begin(), order.end(), 0);
        do {
            std::vector<CallTimes> times;
            for (const int place : order) times.push_back({10 * place, 10 * place + 25});
            for (const auto rule : every_rule) {
                for (int root = 0; root < ranks; ++root) {
                    ASSERT_EQ(attribute(rule, root, times), by_definition(rule, root, times))
                        << "rule " << static_cast<int>(rule) << ", root " << root;
                }
            }
        } while (std::ranges::next_permutation(order).found);
    }
}

TEST(Attribution, IsThatOfTheDefinitionsForRandomCallsWithTies) {
    std::mt19937 random(20);
    std::uniform_int_distribution<int> some(0, 12);
    for (int round = 0; round < 3000; ++round) {
        std::vector<CallTimes> times;
        for (int rank = 0, ranks = 1 + some(random); rank < ranks; ++rank) {
            const int entry = some(random);
            times.push_back({entry, entry + some(random)});
        }
        const int root = some(random) % static_cast<int>(times.size());
        for (const auto rule : every_rule) {
            ASSERT_EQ(attribute(rule, root, times), by_definition(rule, root, times));
        }
    }
}

/* Who gets blocks from whom; some from themselves, some from another more than once. */
Sources random_sources(std::size_t ranks, std::mt19937& random) {
    Sources sources(ranks);
    for (auto& of_one : sources) {
        for (auto count = random() % 4; count > 0; --count) {
            of_one.push_back(static_cast<std::int32_t>(random() % ranks));
        }
    }
    return sources;
}

TEST(Attribution, IsThatOfTheDefinitionsForRandomNeighborsWithTies) {
    std::mt19937 random(23);
    std::uniform_int_distribution<int> some(0, 12);
    for (int round = 0; round < 3000; ++round) {
        std::vector<CallTimes> times(static_cast<std::size_t>(1 + some(random)));
        for (auto& one : times) {
            one.entry_ns = some(random);
            one.exit_ns = one.entry_ns + some(random);
        }
        const auto sources = random_sources(times.size(), random);
        const auto is_waiting = [&](int waiter, int other) {
            const auto& own = sources[static_cast<std::size_t>(waiter)];
            return waiter != other && std::ranges::find(own, other) != own.end();
        };

        ASSERT_EQ(attribute(sources, times), by_definition(is_waiting, times));
    }
}

TEST(Attribution, OfACallWithNeighborsChargesALateRankForThoseThatItSendsTo) {
    // In a row, each rank gets a block from the one before it.
    const Sources sources{{}, {0}, {1}};

    const auto shares = attribute(sources, std::vector<CallTimes>{{300, 310}, {0, 320}, {5, 25}});

    EXPECT_EQ(shares[0], (Share{0, 10, 300, 300}));
    EXPECT_EQ(shares[1], (Share{300, 20, 0, 0}));
    EXPECT_EQ(shares[2], (Share{0, 20, 0, 0}));
}

TEST(Attribution, LosesNoTimeAndNoWaiting) {
    std::mt19937 random(21);
    std::uniform_int_distribution<int> some(0, 1000);
    for (int round = 0; round < 500; ++round) {
        std::vector<CallTimes> times(static_cast<std::size_t>(1 + some(random) % 40));
        for (auto& one : times) {
            one.entry_ns = some(random);
            one.exit_ns = one.entry_ns + some(random);
        }
        for (const auto rule : every_rule) {
            const auto shares = attribute(rule, 0, times);
            std::int64_t waiting_ns = 0;
            std::int64_t awaited_ns = 0;
            for (std::size_t m = 0; m < times.size(); ++m) {
                EXPECT_EQ(shares[m].waiting_ns + shares[m].transfer_ns,
                          times[m].exit_ns - times[m].entry_ns);
                EXPECT_GE(shares[m].waiting_ns, 0);
                EXPECT_GE(shares[m].transfer_ns, 0);
                waiting_ns += shares[m].waiting_ns;
                awaited_ns += shares[m].awaited_ns;
            }
            EXPECT_EQ(waiting_ns, awaited_ns);
        }
    }
}

TEST(Attribution, OfABroadcastChargesNoReceiverForComingLate) {
    const std::vector<CallTimes> times{{0, 50}, {40, 52}, {500, 510}};

    const auto shares = attribute(WaitsFor::the_root, 0, times);

    EXPECT_EQ(shares[0], (Share{0, 50, 0, 0}));
    EXPECT_EQ(shares[1], (Share{0, 12, 0, 0}));
    EXPECT_EQ(shares[2], (Share{0, 10, 0, 0}));
}

TEST(Attribution, OfABroadcastChargesALateRootForAllItsReceivers) {
    const std::vector<CallTimes> times{{100, 110}, {0, 112}, {40, 115}};

    const auto shares = attribute(WaitsFor::the_root, 0, times);

    EXPECT_EQ(shares[0], (Share{0, 10, 100, 160}));
    EXPECT_EQ(shares[1], (Share{100, 12, 0, 0}));
    EXPECT_EQ(shares[2], (Share{60, 15, 0, 0}));
}

TEST(Attribution, OfAGatherLetsOnlyTheRootWaitAndForTheLastSender) {
    const std::vector<CallTimes> times{{0, 5}, {10, 95}, {90, 92}};

    const auto shares = attribute(WaitsFor::the_others, 1, times);

    EXPECT_EQ(shares[1], (Share{80, 5, 0, 0}));
    EXPECT_EQ(shares[0], (Share{0, 5, 0, 0}));
    EXPECT_EQ(shares[2], (Share{0, 2, 80, 80}));
}

TEST(Attribution, EndsWaitingWhereTheRankLeavesBeforeTheLastComes) {
    const std::vector<CallTimes> times{{0, 30}, {100, 101}};

    const auto shares = attribute(WaitsFor::everybody, 0, times);

    EXPECT_EQ(shares[0], (Share{30, 0, 0, 0}));
    EXPECT_EQ(shares[1], (Share{0, 1, 100, 30}));
}

TEST(Attribution, OfACallThatDoesNotBlockCountsOnlyTheTimeThatIsSpentAsking) {
    /* Rank 0 starts at 0 in 2 ns, computes until 60, and waits until 110 for rank 1, which starts
       at 100. Rank 2 computes for so long that rank 1 has come when it waits. */
    const std::vector<CallTimes> times{
        {0, 110, 60, 0, 2}, {100, 130, 25, 0, 3}, {10, 205, 190, 0, 4}};

    const auto shares = attribute(WaitsFor::everybody, 0, times);

    EXPECT_EQ(shares[0], (Share{40, 12, 0, 0}));
    EXPECT_EQ(shares[1], (Share{0, 8, 100, 40}));
    EXPECT_EQ(shares[2], (Share{0, 9, 10, 0}));
}

TEST(Attribution, OfSeveralTestsDividesTheirTimeInProportion) {
    /* Tests from 20 to 220, a quarter of which lies between them; the other comes in the middle. */
    const std::vector<CallTimes> times{{0, 220, 20, 50, 1}, {120, 121}};

    const auto shares = attribute(WaitsFor::everybody, 0, times);

    EXPECT_EQ(shares[0], (Share{75, 76, 0, 0}));
    EXPECT_EQ(shares[1].awaited_ns, 75);
}

Record record(std::uint32_t call, int member, std::int64_t entry_ns, std::uint32_t site = 7) {
    return {.communicator = 1,
            .bytes = 8,
            .times = {entry_ns, 100},
            .call = call,
            .site = site,
            .rank = 10 + member,
            .member = member,
            .member_count = 2,
            .root = 0,
            .collective = Collective::allreduce};
}

TEST(Attribution, TellsTheFormsOfACollectiveApart) {
    auto started = record(0, 0, 0);
    auto blocking = record(0, 1, 0);
    started.form = Form::nonblocking;

    EXPECT_EQ(attribute({started, blocking}).mismatched_records, 2U);

    blocking.form = Form::nonblocking;
    const auto found = attribute({started, blocking, record(1, 0, 0), record(1, 1, 0)});
    EXPECT_THAT(found.parts, SizeIs(4));
    EXPECT_TRUE(found.parts.contains({{Collective::allreduce, 7, Form::nonblocking}, 10, 7}));
    EXPECT_EQ(name_of(Collective::allreduce, Form::nonblocking), "iallreduce");
    EXPECT_EQ(name_of(Collective::allreduce, Form::persistent), "persistent_allreduce");
}

TEST(Dependence, IsListedInTheOrderOfTheCollectives) {
    for (std::size_t c = 0; c < dependences.size(); ++c) {
        EXPECT_EQ(dependences[c].collective, static_cast<Collective>(c));
        const bool rooted = collectives::is_rooted(dependences[c].collective);
        const auto rule = dependences[c].waits_for;
        EXPECT_EQ(rooted, rule == WaitsFor::the_root || rule == WaitsFor::the_others);
    }
}

TEST(Attribution, AddsUpCallsByPlaceRankAndSite) {
    const auto found =
        attribute({record(0, 1, 50), record(1, 0, 20), record(0, 0, 0), record(1, 1, 0)});

    const Place place{Collective::allreduce, 7};
    EXPECT_THAT(found.parts, SizeIs(2));
    EXPECT_EQ(found.parts.at({place, 10, 7}), (Sums{2, 1, 16, 50, 130, 20, 20}));
    EXPECT_EQ(found.parts.at({place, 11, 7}), (Sums{2, 1, 16, 20, 130, 50, 50}));
    EXPECT_EQ(found.incomplete_records + found.mismatched_records, 0U);
}

TEST(Attribution, KeepsTheSiteOfEachRankWhereRanksCallFromDifferentOnes) {
    const auto found = attribute({record(0, 0, 0, 3), record(0, 1, 50, 4)});

    const Place place{Collective::allreduce, 3};
    EXPECT_TRUE(found.parts.contains({place, 10, 3}));
    EXPECT_EQ(found.parts.at({place, 11, 4}).lateness_ns, 50);
}

TEST(Attribution, LeavesOutACallThatNotAllRanksRecorded) {
    const auto found = attribute({record(0, 0, 0), record(1, 0, 0), record(1, 1, 0)});

    EXPECT_EQ(found.incomplete_records, 1U);
    EXPECT_THAT(found.parts, SizeIs(2));
}

TEST(Attribution, OfACallWithNeighborsGoesByThoseOfItsCommunicator) {
    std::vector<Record> call{record(0, 0, 100), record(0, 1, 0)};
    for (auto& one : call) one.collective = Collective::neighbor_alltoall;
    const auto id = call.front().communicator;

    const auto waiting_ns = [&](const Neighborhoods& neighborhoods) {
        std::int64_t all_ns = 0;
        for (const auto& [part, sums] : attribute(call, neighborhoods).parts) {
            all_ns += sums.waiting_ns;
        }
        return all_ns;
    };

    EXPECT_GT(waiting_ns({{id, {{}, {0}}}}), 0) << "rank 1 waits for rank 0";
    EXPECT_EQ(waiting_ns({{id, {{1}, {}}}}), 0) << "rank 0 waits for rank 1";
    EXPECT_EQ(waiting_ns({{id + 1, {{}, {0}}}}), 0) << "of another communicator";
}

TEST(Attribution, LeavesOutACallThatIsNotTheSameOnAllRanks) {
    auto other = record(0, 1, 0);
    other.collective = Collective::bcast;

    const auto found = attribute({record(0, 0, 0), other});

    EXPECT_EQ(found.mismatched_records, 2U);
    EXPECT_TRUE(found.parts.empty());
}

TEST(Attribution, LeavesOutACallThatOneRankRecordedTwice) {
    const auto found = attribute({record(0, 0, 0), record(0, 1, 0), record(0, 1, 5)});

    EXPECT_EQ(found.incomplete_records, 3U);
    EXPECT_TRUE(found.parts.empty());
}

TEST(Attribution, LeavesOutACallWithAnotherRootOnAnotherRank) {
    auto other = record(0, 1, 0);
    other.root = 1;

    EXPECT_EQ(attribute({record(0, 0, 0), other}).mismatched_records, 2U);
}

TEST(Attribution, CallsAPlaceByTheSiteOfMostRanks) {
    std::vector<Record> call{record(0, 0, 0, 3), record(0, 1, 0, 4), record(0, 2, 0, 4)};
    for (auto& one : call) one.member_count = 3;

    const auto found = attribute(call);

    for (const auto& [part, sums] : found.parts) EXPECT_EQ(part.place.site, 4U);
    EXPECT_THAT(found.parts, SizeIs(3));
}

TEST(Attribution, DoesNotDependOnTheOrderOfTheRecords) {
    std::mt19937 random(22);
    std::vector<Record> records;
    for (std::uint32_t call = 0; call < 50; ++call) {
        for (int member = 0; member < 2; ++member) {
            records.push_back(record(call, member, static_cast<std::int64_t>(random() % 100)));
        }
    }
    const auto in_order = attribute(records);
    std::ranges::shuffle(records, random);

    EXPECT_EQ(attribute(records).parts, in_order.parts);
}

TEST(IsChosen, TakesAboutOneCallInSoManyAndTheFewerAmongTheMore) {
    for (int halvings = 0; halvings <= 6; ++halvings) {
        int chosen = 0;
        for (std::uint32_t call = 0; call < 64'000; ++call) {
            if (!is_chosen(99, call, halvings)) continue;
            ++chosen;
            ASSERT_TRUE(halvings == 0 || is_chosen(99, call, halvings - 1));
        }
        EXPECT_NEAR(chosen, 64'000 >> halvings, 0.15 * (64'000 >> halvings)) << halvings;
    }
}

TEST(IsChosen, TakesItsShareOfEveryThousandCalls) {
    for (std::uint64_t communicator = 1; communicator != 0; communicator *= 16) {
        for (std::uint32_t begin = 0; begin < 20'000; begin += 1'000) {
            int chosen = 0;
            for (std::uint32_t call = begin; call < begin + 1'000; ++call) {
                chosen += is_chosen(communicator, call, 3) ? 1 : 0;
            }
            EXPECT_NEAR(chosen, 125, 60) << communicator << " from call " << begin;
        }
    }
}

TEST(IsChosen, TakesFromEachOfTwoCallsThatAlternate) {
    int chosen[2] = {0, 0};
    for (std::uint32_t call = 0; call < 64'000; ++call) {
        chosen[call % 2] += is_chosen(5, call, 3) ? 1 : 0;
    }
    EXPECT_NEAR(chosen[0], 4'000, 600);
    EXPECT_NEAR(chosen[1], 4'000, 600);
}

TEST(ClockLine, InterpolatesWhatTheClockDriftedBetweenBeginAndEnd) {
    const ClockLine line{1'000, 11'000, 500, 600};

    EXPECT_EQ(line.global_ns(1'000), 1'500);
    EXPECT_EQ(line.global_ns(6'000), 6'550);
    EXPECT_EQ(line.global_ns(11'000), 11'600);
}

TEST(ClockLine, HoldsItsOffsetWhereTheRunHasNoLength) {
    const ClockLine line{1'000, 1'000, 500, 500};

    EXPECT_EQ(line.global_ns(1'000), 1'500);
}

}  // namespace
}  // namespace lanewise::profile
