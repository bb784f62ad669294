// SPDX-License-Identifier: BSD-3-Clause
//
// Every listed algorithm, proved by the checker on 1 to 64 ranks.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collectives/checker/checker.hpp"
#include "collectives/knomial.hpp"
#include "model/simulation/network.hpp"
#include "testing/cases.hpp"

namespace lanewise::collectives {
namespace {

const int ranks_max = lanewise::testing::cases(64, 13);
constexpr std::int64_t beyond_int = 5'000'000'011;

// Processors and links that all differ.
model::Network uneven_network() {
    model::Network network;
    network.cost = [](int from, int to, std::int64_t bytes) {
        const double slowness = 1.0 + (from * 7 + to * 5) % 11;
        const auto sent = static_cast<double>(bytes);
        return model::MessageCost{.send_s = 1e-6 * slowness + 1e-9 * sent,
                                  .latency_s = 1e-5 * (1 + (from + to) % 3),
                                  .receive_s = 1e-9 * slowness * sent};
    };
    return network;
}

class EachAlgorithm : public ::testing::TestWithParam<const Algorithm *> {
  protected:
    bool serves(int ranks) const {
        return refusal(algorithm, {.ranks = ranks, .platform = true, .hosts = true, .sites = true})
            .empty();
    }

    Trial trial(int ranks, int root, std::int64_t count) const {
        auto made = even_trial(algorithm.collective, ranks, root, count);
        made.all_counts = algorithm.needs.all_counts;
        made.in_order = !algorithm.needs.commutative;
        made.bracketing = algorithm.bracketing;
        made.network = &network;
        if (algorithm.needs.sites) place(made, ranks + root);
        if (algorithm.needs.hosts) place_on_hosts(made, ranks + root);
        return made;
    }

    // One to five hosts, ranks one after the other or in turn.
    static void place_on_hosts(Trial& made, int variant) {
        const int hosts = 1 + variant % 5;
        for (int rank = 0; rank < made.ranks; ++rank) {
            made.hosts.push_back(variant % 2 == 0 ? rank % hosts : rank * hosts / made.ranks);
        }
    }

    // Two to four sites, ranks one after the other or in turn, two to a host, any number of lanes.
    static void place(Trial& made, int variant) {
        const int sites = 2 + variant % 3;
        for (int rank = 0; rank < made.ranks; ++rank) {
            const bool in_turn = variant % 2 == 0;
            const int site = in_turn ? rank % sites : std::min(rank * rank / made.ranks, sites - 1);
            made.sites.push_back(site);
            made.hosts.push_back(rank / (2 * sites) * sites + site);
        }
        made.lanes = 1 + variant % 5;
    }

    // Blocks of these counts, one behind the other.
    static void give_blocks(Trial& made, std::vector<std::int64_t> counts) {
        made.counts = std::move(counts);
        made.offsets.resize(made.counts.size());
        std::exclusive_scan(made.counts.begin(), made.counts.end(), made.offsets.begin(),
                            std::int64_t{0});
    }

    void expect_proof(Trial made) {
        const auto schedules = schedules_of(algorithm, made);
        for (const bool in_place : {false, true}) {
            made.in_place = in_place;
            ASSERT_EQ(checker.fault(made, schedules, Sends::rendezvous), "") << told(made);
        }
    }

    // What every rank is told alike, although the rest of what they see differs.
    void expect_scratch_memory(const Trial& made) const {
        std::int64_t taken = 0;
        std::set<std::int64_t> told_most;
        for (int rank = 0; rank < made.ranks; ++rank) {
            with_shape(made, rank, [&](const CallShape& shape) {
                taken = std::max(taken, algorithm.build(shape).scratch_units);
                told_most.insert(algorithm.scratch_units_max ? algorithm.scratch_units_max(shape)
                                                             : 0);
            });
        }
        ASSERT_EQ(told_most.size(), 1U) << told(made);
        ASSERT_LE(taken, *told_most.begin()) << told(made);
    }

    static std::string told(const Trial& made) {
        return "on " + std::to_string(made.ranks) + " ranks, root " + std::to_string(made.root) +
               ", count " + std::to_string(made.count) + ", segment " +
               std::to_string(made.segment) + (made.in_place ? ", in place" : "");
    }

    // Root 0, the last, and one amid; each root if `each`.
    std::set<int> roots(int ranks, int each_up_to) const {
        if (!is_rooted(algorithm.collective)) return {0};
        std::set<int> found{0, 1 % ranks, ranks / 2, ranks - 1};
        for (int root = 0; root < ranks && ranks <= each_up_to; ++root) found.insert(root);
        return found;
    }

    const Algorithm& algorithm = *GetParam();
    const model::Network network = uneven_network();
    Checker checker;
};

// Those that need to know the hosts, the sites, either, or the lanes; those that reduce; those of
// collectives with a count for each block; those of graphs, and of these, with a window.
class EachAlgorithmOfHosts : public EachAlgorithm {};
class EachAlgorithmOfSites : public EachAlgorithm {};
class EachAlgorithmOfPlaces : public EachAlgorithm {};
class EachAlgorithmOfLanes : public EachAlgorithm {};
class EachReduction : public EachAlgorithm {};
class EachAlgorithmOfCounts : public EachAlgorithm {};
class EachAlgorithmOfNeighbors : public EachAlgorithm {};
class EachAlgorithmOfWindows : public EachAlgorithm {};

TEST_P(EachAlgorithm, DeliversOnAnyNumberOfRanksFromEveryRoot) {
    // The LMO order of each rank takes longer than the proof: from some ranks on, a few roots.
    const int each_up_to = algorithm.needs.platform ? ranks_max / 3 : ranks_max;
    for (int ranks = 1; ranks <= ranks_max; ++ranks) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, each_up_to)) {
            auto made = trial(ranks, root, 3);
            made.segment = 2;
            made.in_place = (ranks + root) % 2 == 0;
            const auto schedules = schedules_of(algorithm, made);
            ASSERT_EQ(checker.fault(made, schedules, Sends::rendezvous), "") << told(made);
        }
    }
}

TEST_P(EachAlgorithm, DeliversAnyCount) {
    for (int ranks = 1; ranks <= ranks_max; ranks += 1 + ranks / 6) {
        if (!serves(ranks)) continue;
        for (const std::int64_t count : {0, 1, ranks - 1, ranks + 1, 3 * ranks + 2}) {
            for (const int root : roots(ranks, 0)) {
                auto made = trial(ranks, root, count);
                ASSERT_NO_FATAL_FAILURE(expect_proof(made));
                made.segment = 1 + count / 4;
                ASSERT_NO_FATAL_FAILURE(expect_proof(made));
            }
        }
    }
}

TEST_P(EachAlgorithmOfHosts, DeliversBetweenHostsHoweverRanksArePlaced) {
    std::mt19937 random(20081119);
    for (int ranks = 1; ranks <= ranks_max; ++ranks) {
        for (const int root : roots(ranks, ranks_max)) {
            auto made = trial(ranks, root, 4);
            const auto hosts = 1 + random() % 9;
            for (auto& host : made.hosts) host = static_cast<int>(random() % hosts);
            made.segment = static_cast<std::int64_t>(random() % 3);
            const auto schedules = schedules_of(algorithm, made);
            ASSERT_EQ(checker.fault(made, schedules, Sends::rendezvous), "") << told(made);
        }
    }
}

/* Every way to place ranks on hosts, which are numbered by their first ranks. */
std::vector<std::vector<int>> placements(int ranks) {
    std::vector<std::vector<int>> found{{}};
    for (int rank = 0; rank < ranks; ++rank) {
        std::vector<std::vector<int>> longer;
        for (const auto& hosts : found) {
            const int known = hosts.empty() ? 0 : *std::ranges::max_element(hosts) + 1;
            for (int host = 0; host <= known; ++host) {
                longer.push_back(hosts);
                longer.back().push_back(host);
            }
        }
        found = std::move(longer);
    }
    return found;
}

TEST_P(EachAlgorithmOfHosts, DeliversBetweenHostsOnEveryPlacementOfFewRanks) {
    const int few = lanewise::testing::cases(6, 5);
    for (int ranks = 1; ranks <= few; ++ranks) {
        for (const auto& hosts : placements(ranks)) {
            for (const int root : roots(ranks, ranks)) {
                for (const int count : {0, 1, 2}) {
                    auto made = trial(ranks, root, count);
                    made.hosts = hosts;
                    ASSERT_NO_FATAL_FAILURE(expect_proof(made));
                }
            }
        }
    }
}

/* How many messages go from one host to another, by both of them. */
std::map<std::pair<int, int>, int> messages_between_hosts(
    const Trial& made, const std::vector<model::Schedule>& schedules) {
    const auto host = [&](int rank) { return made.hosts[static_cast<std::size_t>(rank)]; };
    std::map<std::pair<int, int>, int> found;
    for (int rank = 0; rank < made.ranks; ++rank) {
        for (const auto& step : schedules[static_cast<std::size_t>(rank)].steps) {
            const bool sends = step.kind == model::StepKind::send;
            if (sends && host(step.peer) != host(rank)) ++found[{host(rank), host(step.peer)}];
        }
    }
    return found;
}

TEST_P(EachAlgorithmOfHosts, SendsOneHostNoMoreThanOneMessageFromAnother) {
    std::mt19937 random(20081130);
    for (const int hosts : {2, 3, 5, 8}) {
        auto made = trial(4 * hosts, 1, 4);
        for (auto& host : made.hosts) {
            host = static_cast<int>(random() % static_cast<unsigned>(hosts));
        }
        const auto schedules = schedules_of(algorithm, made);
        for (const auto& [pair, messages] : messages_between_hosts(made, schedules)) {
            EXPECT_EQ(messages, 1) << "from host " << pair.first << " to " << pair.second;
        }
    }
}

// What the two levels are for: on two hosts only leaders exchange messages.
TEST_P(EachAlgorithmOfHosts, SendsBetweenHostsNoMoreThanTheLeadersHaveTo) {
    auto made = trial(8, 1, 4);
    made.hosts = {0, 1, 0, 1, 1, 0, 0, 1};

    const auto schedules = schedules_of(algorithm, made);

    int sent = 0;
    for (const auto& [pair, messages] : messages_between_hosts(made, schedules)) sent += messages;
    EXPECT_EQ(sent, is_rooted(algorithm.collective) ? 1 : 2);
}

TEST(TwoLevelAlltoall, LetsTheRanksOfAHostLeadItInTurn) {
    auto made = even_trial(Collective::alltoall, 16, 0, 3);
    for (int rank = 0; rank < made.ranks; ++rank) made.hosts.push_back(rank % 4);

    const auto schedules = schedules_of(*find_algorithm(Collective::alltoall, "two_level"), made);

    for (int rank = 0; rank < made.ranks; ++rank) {
        const auto& steps = schedules[static_cast<std::size_t>(rank)].steps;
        const auto crosses = [&](const model::Step& step) {
            return step.kind == model::StepKind::send && step.peer % 4 != rank % 4;
        };
        // Ranks 0 to 11 are the first three of their hosts, one for each other host.
        EXPECT_EQ(std::ranges::count_if(steps, crosses), rank < 12 ? 1 : 0) << "rank " << rank;
    }
}

TEST_P(EachAlgorithmOfSites, DeliversBetweenSitesHoweverRanksArePlaced) {
    std::mt19937 random(20081118);
    for (int ranks = 1; ranks <= ranks_max; ++ranks) {
        for (int root = 0; root < ranks; root += 1 + ranks / 16) {
            auto made = trial(ranks, root, 4);
            const auto sites = 1 + random() % 6;
            for (auto& site : made.sites) site = static_cast<int>(random() % sites);
            for (auto& host : made.hosts) host = static_cast<int>(random() % (2 * sites));
            made.lanes = static_cast<int>(1 + random() % 40);
            made.segment = static_cast<std::int64_t>(random() % 7);
            if (random() % 4 == 0) made.network = nullptr;
            const auto schedules = schedules_of(algorithm, made);
            ASSERT_EQ(checker.fault(made, schedules, Sends::rendezvous), "") << told(made);
        }
    }
}

// Two sites of six ranks, whose blocks can be dealt evenly to any of these numbers of lanes.
TEST_P(EachAlgorithmOfLanes, CarriesTheSameOverEachOfItsLanes) {
    for (const int lanes : {1, 2, 3, 6}) {
        auto made = trial(12, 0, 360);
        made.sites = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
        std::iota(made.hosts.begin(), made.hosts.end(), 0);
        made.lanes = lanes;
        made.network = nullptr;

        const auto schedules = schedules_of(algorithm, made);

        std::map<std::pair<int, int>, std::int64_t> carried[2];
        for (int rank = 0; rank < made.ranks; ++rank) {
            for (const auto& step : schedules[static_cast<std::size_t>(rank)].steps) {
                const bool across = step.peer >= 0 && rank / 6 != step.peer / 6;
                if (!across || step.kind != model::StepKind::send) continue;
                carried[rank / 6][{rank, step.peer}] += step.count;
            }
        }
        for (const auto& direction : carried) {
            if (direction.empty()) continue;
            EXPECT_EQ(direction.size(), static_cast<std::size_t>(lanes));
            for (const auto& [lane, units] : direction) {
                EXPECT_EQ(units, direction.begin()->second)
                    << "ranks " << lane.first << " and " << lane.second << ", " << lanes
                    << " lanes";
            }
        }
    }
}

TEST_P(EachAlgorithm, DeliversCountsBeyondAnInteger) {
    for (int ranks = 1; ranks <= 12; ++ranks) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, 0)) {
            auto made = trial(ranks, root, beyond_int);
            made.segment = beyond_int / 3;
            ASSERT_NO_FATAL_FAILURE(expect_proof(made));
        }
    }
}

TEST_P(EachAlgorithm, DeliversInASegmentThatIsAsLongAsCanBeCounted) {
    for (int ranks = 1; ranks <= 12; ++ranks) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, 0)) {
            auto made = trial(ranks, root, 3);
            made.segment = std::numeric_limits<std::int64_t>::max();
            ASSERT_NO_FATAL_FAILURE(expect_proof(made));
        }
    }
}

TEST_P(EachAlgorithm, KeepsItsScheduleShortHoweverLongTheVector) {
    auto made = trial(4, 0, beyond_int * 1000);
    made.segment = 1;

    const auto schedules = schedules_of(algorithm, made);

    for (const auto& schedule : schedules) EXPECT_LT(schedule.steps.size(), 200'000U);
}

/* A step stays in one place of scratch memory, of which none is longer than the vector. */
void expect_one_place(const model::Schedule& schedule, const model::Slice& slice,
                      std::int64_t count, std::int64_t vector) {
    if (slice.place != model::Place::scratch || count == 0) return;
    const auto& begins = schedule.scratch_begins;
    const auto behind = std::ranges::upper_bound(begins, slice.offset);
    ASSERT_NE(behind, begins.begin());
    const auto end = behind == begins.end() ? schedule.scratch_units : *behind;
    ASSERT_LE(slice.offset + count, end);
    ASSERT_LE(end - *std::prev(behind), vector);
}

// Elements that interleave have room behind each place.
TEST_P(EachReduction, KeepsEachVectorThatItReducesInOnePlaceOfScratchMemory) {
    for (int ranks = 1; ranks <= ranks_max; ranks += 1 + ranks / 4) {
        if (!serves(ranks)) continue;
        const auto made = trial(ranks, ranks / 2, 5);
        const auto vector = algorithm.collective == Collective::reduce_scatter ? 5 * ranks : 5;
        for (const auto& schedule : schedules_of(algorithm, made)) {
            for (const auto& step : schedule.steps) {
                expect_one_place(schedule, step.from, step.count, vector);
                expect_one_place(schedule, step.to, step.count, vector);
            }
        }
    }
}

// The limit on memory is checked by this before any schedule is built.
TEST_P(EachAlgorithm, NeedsNoMoreScratchMemoryThanAllRanksKnowOfIt) {
    for (int ranks = 1; ranks <= ranks_max; ranks += 1 + ranks / 4) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, 0)) {
            for (const std::int64_t count : {1, 1200}) {
                auto made = trial(ranks, root, count);
                ASSERT_NO_FATAL_FAILURE(expect_scratch_memory(made));
                made.segment = 1 + count / 4;
                ASSERT_NO_FATAL_FAILURE(expect_scratch_memory(made));
            }
        }
    }
}

TEST_P(EachAlgorithmOfCounts, NeedsNoMoreScratchMemoryForBlocksOfAnyCountAnywhere) {
    std::mt19937 random(20081121);
    for (int ranks = 1; ranks <= ranks_max; ranks += 1 + ranks / 4) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, 0)) {
            auto made = trial(ranks, root, 0);
            auto all_on_one = made.counts;
            all_on_one.back() = 1200;
            give_blocks(made, all_on_one);
            ASSERT_NO_FATAL_FAILURE(expect_scratch_memory(made));
            for (auto& count : made.counts) count = static_cast<std::int64_t>(random() % 12);
            give_blocks(made, made.counts);
            ASSERT_NO_FATAL_FAILURE(expect_scratch_memory(made));
            if (algorithm.collective == Collective::reduce_scatter) continue;
            std::ranges::reverse(made.offsets);
            ASSERT_NO_FATAL_FAILURE(expect_scratch_memory(made));
        }
    }
}

TEST_P(EachAlgorithmOfPlaces, NeedsNoMoreScratchMemoryHoweverRanksArePlaced) {
    std::mt19937 random(20081122);
    for (int ranks = 1; ranks <= ranks_max; ++ranks) {
        auto made = trial(ranks, ranks / 2, 40);
        if (!is_rooted(algorithm.collective)) made.root = 0;
        const auto places = 1 + random() % 9;
        for (auto& host : made.hosts) host = static_cast<int>(random() % places);
        for (auto& site : made.sites) site = static_cast<int>(random() % (1 + places / 2));
        made.lanes = static_cast<int>(1 + random() % 40);
        ASSERT_NO_FATAL_FAILURE(expect_scratch_memory(made));
    }
}

TEST_P(EachAlgorithm, DeliversWhereNoSendWaits) {
    for (int ranks = 1; ranks <= ranks_max; ranks += 1 + ranks / 4) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, 0)) {
            auto made = trial(ranks, root, 5);
            made.segment = 2;
            const auto schedules = schedules_of(algorithm, made);
            ASSERT_EQ(checker.fault(made, schedules, Sends::eager), "") << told(made);
        }
    }
}

TEST_P(EachAlgorithmOfCounts, DeliversBlocksOfAnyCountAnywhere) {
    std::mt19937 random(20081107);
    for (int ranks = 1; ranks <= ranks_max; ranks += 1 + ranks / 12) {
        if (!serves(ranks)) continue;
        for (const int root : roots(ranks, 0)) {
            auto made = trial(ranks, root, 0);
            for (auto& count : made.counts) {
                count = std::max(static_cast<std::int64_t>(random() % 12) - 4, std::int64_t{0});
            }
            give_blocks(made, made.counts);
            ASSERT_NO_FATAL_FAILURE(expect_proof(made));
            if (algorithm.collective == Collective::reduce_scatter) continue;

            // In another order, and apart.
            std::vector<std::size_t> order(made.counts.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::shuffle(order.begin(), order.end(), random);
            std::int64_t at = 0;
            for (const auto block : order) {
                at += static_cast<std::int64_t>(random() % 3);
                made.offsets[block] = at;
                at += made.counts[block];
            }
            ASSERT_NO_FATAL_FAILURE(expect_proof(made));
        }
    }
}

/* A graph of about so many edges from each rank: some to the rank itself, some there several times,
   with blocks of any count in any order. */
void draw_graph(Trial& made, int degree, std::mt19937& random) {
    const auto any_rank = [&] {
        return static_cast<int>(random() % static_cast<unsigned>(made.ranks));
    };
    const auto any_count = [&] {
        return std::max<std::int64_t>(0, std::int64_t(random() % 12) - 4);
    };
    made.edges.clear();
    for (int i = 0; i < degree * made.ranks; ++i) {
        const int from = any_rank();
        const int to = any_rank();
        const auto times = random() % 4 == 0 ? 1 + random() % 3 : 1;
        made.edges.insert(made.edges.end(), times, {.from = from, .to = to});
    }
    std::shuffle(made.edges.begin(), made.edges.end(), random);
    std::vector<std::int64_t> own(static_cast<std::size_t>(made.ranks));
    for (auto& count : own) count = any_count();
    made.counts.clear();
    for (const auto& edge : made.edges) {
        const bool one = sends_one_block(made.collective);
        made.counts.push_back(one ? own[static_cast<std::size_t>(edge.from)] : any_count());
    }
}

/* Puts the blocks of each rank anywhere, apart. */
std::vector<std::int64_t> places_of(const Trial& made, std::mt19937& random) {
    std::vector<std::size_t> order(made.edges.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int64_t> places(order.size());
    std::int64_t at = 0;
    for (const auto edge : order) {
        at += static_cast<std::int64_t>(random() % 3);
        places[edge] = at;
        at += made.counts[edge];
    }
    return places;
}

TEST_P(EachAlgorithmOfNeighbors, DeliversOnAnyGraphWhetherSendsWaitOrNot) {
    std::mt19937 random(20081127);
    for (int ranks = 1; ranks <= ranks_max; ++ranks) {
        for (const int degree : {0, 1, 3, 9}) {
            auto made = trial(ranks, 0, 0);
            draw_graph(made, degree, random);
            made.offsets = places_of(made, random);
            made.send_offsets = sends_one_block(algorithm.collective)
                                    ? std::vector<std::int64_t>(made.edges.size())
                                    : places_of(made, random);
            const auto schedules = schedules_of(algorithm, made);
            for (const auto sends : {Sends::rendezvous, Sends::eager}) {
                ASSERT_EQ(checker.fault(made, schedules, sends), "") << told(made);
            }
        }
    }
}

/* The most messages of a kind that a rank begins before it waits for the first of them. */
std::size_t most_under_way(const model::Schedule& schedule, model::StepKind kind) {
    std::set<std::size_t> under_way;
    std::size_t most = 0;
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
        for (const auto ended : schedule.after_of(schedule.steps[i])) under_way.erase(ended);
        if (schedule.steps[i].kind == kind) under_way.insert(i);
        most = std::max(most, under_way.size());
    }
    return most;
}

TEST_P(EachAlgorithmOfWindows, HasNoMoreMessagesUnderWayToNeighborsThanItsWindowHolds) {
    std::mt19937 random(20081128);
    auto made = trial(40, 0, 0);
    draw_graph(made, 30, random);
    made.offsets = places_of(made, random);
    made.send_offsets.assign(made.edges.size(), 0);

    for (const auto kind : {model::StepKind::send, model::StepKind::receive}) {
        std::size_t most = 0;
        for (const auto& schedule : schedules_of(algorithm, made)) {
            most = std::max(most, most_under_way(schedule, kind));
        }
        EXPECT_EQ(most, static_cast<std::size_t>(algorithm.radix - 1));
    }
}

// Also of the trees that are not listed, on numbers of ranks around the powers of the radix.
class EachRadix : public ::testing::TestWithParam<Collective> {};

TEST_P(EachRadix, DeliversFromAnyRoot) {
    Checker checker;
    const int step = lanewise::testing::cases(1, 9);
    for (int radix = radix_min; radix <= radix_max; radix += step) {
        const auto *algorithm = find_algorithm(GetParam(), "knomial:" + std::to_string(radix));
        ASSERT_NE(algorithm, nullptr);
        for (const int ranks : {1, 2, radix, radix + 1, 2 * radix + 1, radix * radix + 1}) {
            if (ranks > 2 * radix_max + 1) continue;
            for (const int root : {0, ranks / 2}) {
                auto made = even_trial(GetParam(), ranks, root, 3);
                made.in_order = !algorithm->needs.commutative;
                const auto schedules = schedules_of(*algorithm, made);
                ASSERT_EQ(checker.fault(made, schedules, Sends::rendezvous), "")
                    << algorithm->name << " on " << ranks << " ranks, root " << root;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Trees, EachRadix,
                         ::testing::Values(Collective::bcast, Collective::scatter,
                                           Collective::gather, Collective::reduce),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

std::string named(const ::testing::TestParamInfo<const Algorithm *>& tested) {
    std::string name = tested.param->name;
    std::replace(name.begin(), name.end(), ':', '_');
    return std::string(name_of(tested.param->collective)) + "_" + name;
}

INSTANTIATE_TEST_SUITE_P(All, EachAlgorithm, ::testing::ValuesIn(algorithms()), named);

// GoogleTest fails the tests of a suite that is left without any algorithm.
auto those(bool fit(const Algorithm&)) {
    std::vector<const Algorithm *> found;
    for (const auto *algorithm : algorithms()) {
        if (fit(*algorithm)) found.push_back(algorithm);
    }
    return ::testing::ValuesIn(found);
}

bool knows_hosts(const Algorithm& each) {
    return each.needs.hosts;
}
bool knows_sites(const Algorithm& each) {
    return each.needs.sites;
}
bool knows_places(const Algorithm& each) {
    return each.needs.hosts || each.needs.sites;
}
bool knows_lanes(const Algorithm& each) {
    return each.needs.lanes;
}
bool reduces(const Algorithm& each) {
    return is_reduction(each.collective);
}
bool has_neighbors(const Algorithm& each) {
    return is_neighborhood(each.collective);
}
bool has_window(const Algorithm& each) {
    return has_neighbors(each) && !each.posts_at_once;
}
bool takes_counts(const Algorithm& each) {
    return !has_neighbors(each) && !even_trial(each.collective, 1, 0, 0).counts.empty();
}

INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfHosts, those(knows_hosts), named);
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfSites, those(knows_sites), named);
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfPlaces, those(knows_places), named);
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfLanes, those(knows_lanes), named);
INSTANTIATE_TEST_SUITE_P(All, EachReduction, those(reduces), named);
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfCounts, those(takes_counts), named);
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfNeighbors, those(has_neighbors), named);
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithmOfWindows, those(has_window), named);

}  // namespace
}  // namespace lanewise::collectives
