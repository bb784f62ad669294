// SPDX-License-Identifier: BSD-3-Clause
//
// What holds of the price of any schedules, tried on seeded random ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "model/simulation/price.hpp"
#include "model/simulation/uniform_network.hpp"

namespace lanewise::model {
namespace {

constexpr int ranks = 7;
constexpr unsigned seeds = 200;

/* Messages in one order that all ranks keep, so that they always finish. */
std::vector<Schedule> random_schedules(std::mt19937& random) {
    std::vector<Builder> builders(ranks);
    std::vector<StepId> steps(ranks, 0);
    const auto some = [&](int below) { return static_cast<int>(random() % unsigned(below)); };
    const auto after = [&](std::size_t rank) {
        const auto earlier = static_cast<int>(steps[rank]++);
        if (earlier == 0 || some(2) == 0) return no_step;
        return static_cast<StepId>(some(earlier));
    };
    for (int n = 0; n < 40; ++n) {
        const int from = some(ranks);
        const int to = (from + 1 + some(ranks - 1)) % ranks;
        const auto sender = static_cast<std::size_t>(from);
        const auto receiver = static_cast<std::size_t>(to);
        const std::int64_t count = 1 + some(100);
        builders[sender].send(to, {}, count, {after(sender)});
        builders[receiver].receive(from, {}, count, {after(receiver)});
        if (some(4) == 0) builders[sender].copy({}, {}, count, {after(sender)});
        if (some(4) == 0) builders[receiver].reduce({}, {}, count, {after(receiver)});
    }
    std::vector<Schedule> schedules;
    for (auto& builder : builders) schedules.push_back(builder.finish());
    return schedules;
}

/* Each pair of ranks has costs of its own; times are multiples of `unit_s`. */
Network random_network(std::mt19937& random, double unit_s) {
    const auto seed = random();
    auto network = uniform_network(ranks, {}, {});
    for (int rank = 0; rank < ranks; ++rank) {
        network.host.push_back(static_cast<int>(random() % ranks));
    }
    network.cost = [seed, unit_s](int from, int to, std::int64_t bytes) {
        std::minstd_rand pair(seed + static_cast<unsigned>(from * ranks + to));
        const auto some_s = [&] { return unit_s * double(pair() % 50) * double(bytes); };
        return MessageCost{.send_s = some_s(),
                           .egress_s = some_s(),
                           .latency_s = some_s(),
                           .ingress_s = some_s(),
                           .receive_s = some_s(),
                           .shared_links = {pair() % 3 == 0 ? 0 : -1, pair() % 3 == 0 ? 1 : -1}};
    };
    network.shared_links.push_back({{0.1 / unit_s, 0.15 / unit_s}});
    network.shared_links.push_back({{0.2 / unit_s}});
    if (random() % 2 != 0) network.eager_bytes = 50;
    network.copy_s_per_byte = unit_s * 3;
    network.reduce_s_per_byte = unit_s * 5;
    return network;
}

Priced price_of(const Network& network, const std::vector<Schedule>& schedules,
                const Watch& watch = {}) {
    const auto schedule_of = [&](int rank) { return schedules[static_cast<std::size_t>(rank)]; };
    return price(network, static_cast<int>(schedules.size()), schedule_of, 1, watch);
}

TEST(PriceProperties, SchedulesThatKeepOneOrderFinish) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        const auto schedules = random_schedules(random);

        const auto priced = price_of(random_network(random, 1.0), schedules);

        EXPECT_TRUE(priced.finished) << "seed " << seed << ": " << priced.waiting;
    }
}

TEST(PriceProperties, TheSamePriceComesOutEveryTime) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        const auto schedules = random_schedules(random);
        const auto network = random_network(random, 1.0);

        EXPECT_EQ(price_of(network, schedules).rank_s, price_of(network, schedules).rank_s);
    }
}

TEST(PriceProperties, TwiceTheCostsTakeTwiceTheTime) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 once(seed);
        std::mt19937 twice(seed);
        const auto schedules = random_schedules(once);
        random_schedules(twice);

        const double once_s = price_of(random_network(once, 1.0), schedules).total_s;
        const double twice_s = price_of(random_network(twice, 2.0), schedules).total_s;

        EXPECT_EQ(twice_s, 2.0 * once_s) << "seed " << seed;
    }
}

TEST(PriceProperties, NewNumbersForTheHostsChangeNothing) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        const auto schedules = random_schedules(random);
        const auto network = random_network(random, 1.0);
        std::vector<int> number(ranks);
        for (int host = 0; host < ranks; ++host) number[static_cast<std::size_t>(host)] = host + 3;
        std::shuffle(number.begin(), number.end(), random);
        auto renamed = network;
        for (auto& host : renamed.host) host = number[static_cast<std::size_t>(host)];

        EXPECT_EQ(price_of(network, schedules).rank_s, price_of(renamed, schedules).rank_s);
    }
}

TEST(PriceProperties, NothingDoesTwoThingsAtOnce) {
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        const auto schedules = random_schedules(random);
        const auto network = random_network(random, 1.0);
        std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> busy;
        const auto watch = [&](const Span& span) {
            const int host = network.host[static_cast<std::size_t>(span.rank)];
            const auto resource = span.what == Busy::egress    ? std::pair(1, host)
                                  : span.what == Busy::ingress ? std::pair(2, host)
                                                               : std::pair(0, span.rank);
            busy[resource].emplace_back(span.begin_s, span.end_s);
        };

        const auto priced = price_of(network, schedules, watch);

        for (auto& [resource, spans] : busy) {
            std::sort(spans.begin(), spans.end());
            for (std::size_t i = 1; i < spans.size(); ++i) {
                EXPECT_LE(spans[i - 1].second, spans[i].first) << "seed " << seed;
            }
            const bool is_processor = resource.first == 0;
            if (is_processor) {
                EXPECT_LE(spans.back().second, priced.total_s) << "seed " << seed;
            }
        }
    }
}

/* A message down a random tree: all that a resource serves, it serves in one order. */
std::vector<Schedule> random_tree(std::mt19937& random) {
    std::vector<Builder> builders(ranks);
    std::vector<StepId> received(ranks, no_step);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
        const auto parent = random() % rank;
        const std::int64_t count = 1 + static_cast<std::int64_t>(random() % 100);
        received[rank] = builders[rank].receive(static_cast<int>(parent), {}, count);
        builders[parent].send(static_cast<int>(rank), {}, count, {received[parent]});
    }
    std::vector<Schedule> schedules;
    for (auto& builder : builders) schedules.push_back(builder.finish());
    return schedules;
}

TEST(PriceProperties, TheTimeOfATreeNeverFallsWhenACostRises) {
    using Part = double MessageCost::*;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        const auto schedules = random_tree(random);
        auto network = random_network(random, 1.0);
        network.host.clear();
        network.shared_links.clear();
        const auto before = price_of(network, schedules).rank_s;
        for (const Part part :
             {&MessageCost::send_s, &MessageCost::egress_s, &MessageCost::latency_s,
              &MessageCost::ingress_s, &MessageCost::receive_s}) {
            const int dearer_to = 1 + static_cast<int>(random() % (ranks - 1));
            auto dearer = network;
            dearer.cost = [&](int from, int to, std::int64_t bytes) {
                auto cost = network.cost(from, to, bytes);
                if (to == dearer_to) cost.*part += 100.0;
                return cost;
            };

            const auto after = price_of(dearer, schedules).rank_s;

            for (std::size_t rank = 0; rank < ranks; ++rank) {
                EXPECT_GE(after[rank], before[rank]) << "seed " << seed << ", rank " << rank;
            }
        }
    }
}

}  // namespace
}  // namespace lanewise::model
