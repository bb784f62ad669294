// SPDX-License-Identifier: BSD-3-Clause
//
// See contest.hpp.

#include "tune/comparison_run.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace lanewise::tools {
namespace {

// Of each kind, so that a choice is left where neighbouring sizes disagree.
constexpr std::size_t confirmed_max = 3;
constexpr std::size_t confirmation_count_min = 20;
// What a race may take of the contest's time; the rest is for its confirmation.
constexpr double race_share = 0.7;

struct Runner {
    measure::Bench& bench;
    const std::vector<lw_operation>& operations;
    std::uint64_t message_bytes;
    double begin_s;

    /* Rank 0's clock speaks for all. */
    double elapsed_s() const {
        double elapsed_s = bench.clock().now_s() - begin_s;
        bench.harness().broadcast_value(elapsed_s);
        return elapsed_s;
    }

    Result<measure::Batch> run(const Heat& heat, int root) const {
        return bench.run_batch({&operations[heat.entrant], root, message_bytes}, heat.count);
    }
};

Outcome run_race(const Runner& runner, Race& race, double time_limit_s) {
    for (auto heats = race.next_round(); !heats.empty(); heats = race.next_round()) {
        bool out_of_time = false;
        for (const auto& heat : heats) {
            // Everybody gets a first look, however little time there is.
            const bool first_look = race.values(heat.entrant).empty();
            if (!first_look && out_of_time) continue;
            if (race.standing(heat.entrant) == Standing::failed) continue;
            const auto batch = runner.run(heat, 0);
            if (!batch && heat.entrant == 0) return batch.failure();
            if (batch) {
                race.add(heat.entrant, batch->values_s);
            } else {
                race.withdraw(heat.entrant);
            }
            out_of_time = runner.elapsed_s() > time_limit_s;
        }
        race.end_round();
        if (out_of_time) race.stop();
    }
    return Done{};
}

std::vector<std::size_t> finalists(const Race& race, const std::vector<Entrant>& entrants) {
    std::map<int, std::size_t> taken;
    std::vector<std::size_t> found;
    for (const auto winner : race.winners()) {
        if (taken[entrants[winner].kind]++ < confirmed_max) found.push_back(winner);
    }
    return found;
}

/* As many repetitions as the race needed, and half as many again; fewer only for want of time. */
std::size_t confirmation_count(const Race& race, const std::vector<std::size_t>& running,
                               const RaceRule& rule, double time_left_s) {
    std::size_t used = 0;
    double once_s = 0.0;
    for (const auto i : running) {
        if (i != 0) used = std::max(used, race.values(i).size());
        once_s += race.interval(i).center;
    }
    const auto wanted = std::min(used + used / 2, rule.repetitions_max);
    const auto fits = once_s > 0.0 ? std::max(time_left_s, 0.0) / once_s : 0.0;
    return std::max(confirmation_count_min,
                    fits < static_cast<double>(wanted) ? static_cast<std::size_t>(fits) : wanted);
}

/* The ways as they are confirmed: with as much work meanwhile as the reference took alone. */
std::vector<Way> ways_to_confirm(const std::vector<Entrant>& entrants, const Race& race) {
    const double alone_s = race.interval(0).center;
    std::vector<Way> ways;
    for (const auto& entrant : entrants) {
        ways.push_back(entrant.working ? entrant.working(alone_s) : entrant.way);
    }
    return ways;
}

Outcome confirm(const Runner& runner, const Race& race, const std::vector<std::size_t>& running,
                const ContestSettings& settings, Verdict& verdict) {
    const double time_left_s = settings.time_limit_s - runner.elapsed_s();
    const auto count = confirmation_count(race, running, settings.rule, time_left_s);
    std::mt19937_64 random(settings.seed + 1);
    std::map<std::size_t, std::vector<double>> values;
    // Four passes at least: what disturbs one of them must not decide.
    const auto batch_max = std::min<std::size_t>(settings.rule.batch_max, count / 4);
    for (const auto& heat : take_turns(running, count, batch_max, random)) {
        const auto batch = runner.run(heat, verdict.confirmation_root);
        if (!batch && heat.entrant == 0) return batch.failure();
        auto& all = values[heat.entrant];
        if (batch) all.insert(all.end(), batch->values_s.begin(), batch->values_s.end());
    }
    for (const auto i : running) {
        // Whoever failed for this root has fewer values, and is not confirmed.
        if (values[i].size() < confirmation_count_min) continue;
        verdict.confirmation.push_back(
            {i, {median_interval(values[i], settings.rule.confidence), values[i].size()}});
    }
    return Done{};
}

}  // namespace

Result<Verdict> run_contest(measure::Bench& bench, const std::vector<Entrant>& entrants,
                            std::uint64_t message_bytes, const ContestSettings& settings) {
    std::vector<lw_operation> operations;
    std::vector<bool> pruned;
    for (const auto& entrant : entrants) {
        operations.push_back(operation_of(entrant.name, entrant.way));
        pruned.push_back(entrant.pruned);
    }
    const Runner runner{bench, operations, message_bytes, bench.clock().now_s()};
    Race race(settings.rule, pruned, settings.seed);
    const auto raced = run_race(runner, race, race_share * settings.time_limit_s);
    if (!raced) return raced.failure();

    Verdict verdict;
    verdict.confirmation_root = settings.rooted ? bench.harness().size() - 1 : 0;
    for (std::size_t i = 0; i < entrants.size(); ++i) {
        verdict.race.push_back({race.interval(i), race.values(i).size()});
        verdict.standings.push_back(race.standing(i));
    }
    auto running = finalists(race, entrants);
    if (!running.empty()) {
        running.insert(running.begin(), 0);
        const auto ways = ways_to_confirm(entrants, race);
        std::vector<lw_operation> again;
        for (std::size_t i = 0; i < entrants.size(); ++i) {
            again.push_back(operation_of(entrants[i].name, ways[i]));
        }
        const Runner confirming{bench, again, message_bytes, runner.begin_s};
        const auto confirmed = confirm(confirming, race, running, settings, verdict);
        if (!confirmed) return confirmed.failure();
    }
    verdict.elapsed_s = runner.elapsed_s();
    return verdict;
}

}  // namespace lanewise::tools
