// SPDX-License-Identifier: BSD-3-Clause
//
// See comparison_run.hpp.

#include "tune/comparison_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <tuple>

namespace lanewise::tune {
namespace {

// Of each kind, so that a choice is left where neighbouring sizes disagree.
constexpr std::size_t confirmed_max = 3;
constexpr std::size_t confirmation_count_min = 20;
// More would narrow an interval that the differences between launches make wider anyway.
constexpr std::size_t judgement_count_max = 200;
// What a comparison may take of the time; the rest is for its confirmation.
constexpr double comparison_share = 0.7;

// Fewer in a launch make its number a poor one; it still is one of several launches.
constexpr std::size_t hurried_judgement_count = 3;

// Beside what is timed there are the start, the warm-up and what comes between.
constexpr double untimed_ratio = 1.5;
constexpr std::size_t untimed_repetitions = 2;
// Who has not run yet may be far slower than the reference.
constexpr double unknown_ratio = 4.0;

struct Runner {
    measure::Bench& bench;
    const std::vector<lw_operation>& operations;
    std::uint64_t message_bytes;
    double begin_s;
    double budget_s = std::numeric_limits<double>::infinity();
    const std::function<void(const Trial&)>& tell;

    bool has_budget() const { return std::isfinite(budget_s); }

    /* Rank 0's clock speaks for all. */
    double elapsed_s() const {
        double elapsed_s = bench.clock().now_s() - begin_s;
        bench.harness().broadcast_value(elapsed_s);
        return elapsed_s;
    }

    /* Whether so many repetitions probably end before the budget does. */
    bool fits(std::size_t count, double repetition_s) const {
        const auto repetitions = static_cast<double>(count + untimed_repetitions);
        return elapsed_s() + untimed_ratio * repetitions * repetition_s <= budget_s;
    }

    Result<measure::Batch> run(const ScheduledBatch& scheduled, int root) const {
        const auto& operation = operations[scheduled.contender];
        if (tell) tell({operation.name, scheduled.contender, operations.size()});
        return bench.run_batch({&operation, root, message_bytes}, scheduled.count);
    }
};

/* How long a repetition will take, from what is known: as long as those before. */
double expected_s(const Comparison& comparison, std::size_t contender, double before_s) {
    const auto& own = comparison.values(contender);
    if (!own.empty()) return median(own);
    const auto& reference = comparison.values(0);
    return reference.empty() ? before_s : unknown_ratio * median(reference);
}

/* How long one repetition of the reference takes; 0 where nobody needs to know. */
Result<double> probe(const Runner& runner, const ComparisonOptions& settings) {
    const bool planned = settings.look == FirstLook::brief && runner.has_budget();
    if (!planned || settings.expected_s > 0.0) return settings.expected_s;
    const auto batch = runner.run({.contender = 0, .count = 1}, settings.root);
    if (!batch) return batch.failure();
    return batch->values_s.front();
}

/* What a first look at so many contenders takes if they are as fast as the reference. */
double look_s(std::size_t contenders, std::size_t count, double repetition_s) {
    const auto passes = std::min<std::size_t>(count, 2);
    const auto calls = static_cast<double>(contenders * (count + passes * untimed_repetitions));
    return untimed_ratio * calls * repetition_s;
}

/* The repetitions of a first look: those that are asked for, or as many as there is time for. */
std::size_t look_count(const ComparisonRule& rule, std::size_t contenders, double repetition_s,
                       double room_s) {
    auto count = rule.repetitions_min;
    while (count > 1 && look_s(contenders, count, repetition_s) > room_s) --count;
    return count;
}

/* The reference is what all are compared with. */
std::vector<double> promises_of(const std::vector<Contender>& contenders) {
    std::vector<double> promises_s = {-1.0};
    for (std::size_t i = 1; i < contenders.size(); ++i) {
        promises_s.push_back(contenders[i].promise_s);
    }
    return promises_s;
}

/* Each pass with the most promising first, so that the others are those that are left out. */
void put_promising_first(std::vector<ScheduledBatch>& batches, std::span<const double> promises_s) {
    std::map<std::size_t, int> passes;
    std::vector<std::tuple<int, double, std::size_t>> keys;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const auto contender = batches[i].contender;
        keys.emplace_back(passes[contender]++, promises_s[contender], i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<ScheduledBatch> ordered;
    for (const auto& key : keys) ordered.push_back(batches[std::get<2>(key)]);
    batches = std::move(ordered);
}

/* Whether there was budget for all of it. A repetition of the reference takes about so long; where
   there are promises, those with the least begin. */
Result<bool> run_rounds(const Runner& runner, Comparison& comparison,
                        const ComparisonOptions& settings, double reference_s,
                        std::span<const double> promises_s) {
    const double time_limit_s =
        (settings.confirms ? comparison_share : 1.0) * settings.time_limit_s;
    for (auto batches = comparison.next_round(); !batches.empty();
         batches = comparison.next_round()) {
        bool out_of_time = false;
        if (!promises_s.empty()) put_promising_first(batches, promises_s);
        for (const auto& scheduled : batches) {
            // Everybody gets a first look, however little time there is.
            const bool first_look = comparison.values(scheduled.contender).empty();
            if (!first_look && out_of_time) continue;
            if (comparison.state(scheduled.contender) == CandidateState::failed) continue;
            const auto repetition_s = expected_s(comparison, scheduled.contender, reference_s);
            if (!runner.fits(scheduled.count, repetition_s)) return false;
            const auto batch = runner.run(scheduled, settings.root);
            if (!batch && scheduled.contender == 0) return batch.failure();
            if (batch) {
                comparison.add(scheduled.contender, batch->values_s);
            } else {
                comparison.withdraw(scheduled.contender);
            }
            out_of_time = runner.elapsed_s() > time_limit_s;
        }
        comparison.end_round();
        if (out_of_time) comparison.stop();
    }
    return true;
}

/* Four passes, or two of what is few. */
std::size_t judgement_batch(std::size_t count) {
    return count < confirmation_count_min ? (count + 1) / 2 : count / 4;
}

/* As many repetitions of a judgement as its share of the budget has time for, rounds of all who are
   judged taking so long. */
std::size_t within_share(std::size_t count, double round_s, double share_s) {
    const auto untimed = [](std::size_t repetitions) {
        const auto batch = judgement_batch(repetitions);
        return (repetitions + batch - 1) / batch * untimed_repetitions;
    };
    while (count > hurried_judgement_count &&
           round_s * static_cast<double>(count + untimed(count)) > share_s) {
        --count;
    }
    return count;
}

std::vector<std::size_t> finalists(const Comparison& comparison,
                                   const std::vector<Contender>& contenders) {
    std::map<int, std::size_t> taken;
    std::vector<std::size_t> found;
    for (const auto winner : comparison.winners()) {
        if (taken[contenders[winner].kind]++ < confirmed_max) found.push_back(winner);
    }
    return found;
}

/* As many repetitions as the comparison needed, and half as many again; fewer only for want of
 * time. */
std::size_t confirmation_count(const Comparison& comparison,
                               const std::vector<std::size_t>& running, const ComparisonRule& rule,
                               double time_left_s) {
    std::size_t used = 0;
    double once_s = 0.0;
    for (const auto i : running) {
        if (i != 0) used = std::max(used, comparison.values(i).size());
        once_s += comparison.interval(i).center;
    }
    const auto wanted = std::min(used + used / 2, rule.repetitions_max);
    const auto fits = once_s > 0.0 ? std::max(time_left_s, 0.0) / once_s : 0.0;
    return std::max(confirmation_count_min,
                    fits < static_cast<double>(wanted) ? static_cast<std::size_t>(fits) : wanted);
}

Outcome confirm(const Runner& runner, const Comparison& comparison,
                const std::vector<std::size_t>& running, const ComparisonOptions& settings,
                Verdict& verdict) {
    const double time_left_s = settings.time_limit_s - runner.elapsed_s();
    const auto count = confirmation_count(comparison, running, settings.rule, time_left_s);
    double once_s = 0.0;
    for (const auto i : running) once_s += comparison.interval(i).center;
    if (!runner.fits(count, once_s)) {
        verdict.out_of_budget = true;
        return Done{};
    }
    std::mt19937_64 random(settings.seed + 1);
    std::map<std::size_t, std::vector<double>> values;
    // Four passes at least: what disturbs one of them must not decide.
    const auto batch_max = std::min<std::size_t>(settings.rule.batch_max, count / 4);
    for (const auto& scheduled : interleave(running, count, batch_max, random)) {
        const auto batch = runner.run(scheduled, verdict.confirmation_root);
        if (!batch && scheduled.contender == 0) return batch.failure();
        auto& all = values[scheduled.contender];
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

bool Verdict::has_looked() const {
    const auto ran = [](const Figures& figures) { return figures.repetitions > 0; };
    return !compared.empty() && ran(compared.front()) &&
           std::any_of(compared.begin() + 1, compared.end(), ran);
}

Result<Verdict> run_comparison(measure::Bench& bench, const std::vector<Contender>& contenders,
                               std::uint64_t message_bytes, const ComparisonOptions& settings) {
    std::vector<lw_operation> operations;
    std::vector<bool> pruned;
    for (const auto& contender : contenders) {
        operations.push_back(operation_of(contender.name, contender.implementation));
        pruned.push_back(contender.pruned);
    }
    const Runner runner{
        bench, operations, message_bytes, bench.clock().now_s(), settings.budget_s, settings.tell};
    const auto reference_s = probe(runner, settings);
    if (!reference_s) return reference_s.failure();
    auto rule = settings.rule;
    if (settings.look == FirstLook::brief) {
        const double room_s = settings.budget_s - runner.elapsed_s();
        rule.repetitions_min = look_count(rule, contenders.size(), *reference_s, room_s);
    }
    const bool hurried = rule.repetitions_min < settings.rule.repetitions_min;
    Comparison comparison(rule, pruned, settings.seed);
    const auto compared = run_rounds(runner, comparison, settings, *reference_s,
                                     hurried ? promises_of(contenders) : std::vector<double>{});
    if (!compared) return compared.failure();

    Verdict verdict;
    verdict.out_of_budget = !*compared;
    verdict.least_s = look_s(1, 1, *reference_s) + look_s(1, 1, unknown_ratio * *reference_s);
    verdict.confirmation_root = settings.rooted ? bench.harness().size() - 1 : 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        verdict.compared.push_back({comparison.interval(i), comparison.values(i).size()});
        verdict.states.push_back(comparison.state(i));
    }
    auto running = finalists(comparison, contenders);
    if (settings.confirms && !running.empty()) {
        running.insert(running.begin(), 0);
        const auto confirmed = confirm(runner, comparison, running, settings, verdict);
        if (!confirmed) return confirmed.failure();
    }
    verdict.elapsed_s = runner.elapsed_s();
    return verdict;
}

Result<Verdict> run_judgement(measure::Bench& bench, const std::vector<Contender>& contenders,
                              std::uint64_t message_bytes, const ComparisonOptions& settings) {
    std::vector<lw_operation> operations;
    std::vector<std::size_t> running;
    for (const auto& contender : contenders) {
        running.push_back(operations.size());
        operations.push_back(operation_of(contender.name, contender.implementation));
    }
    const Runner runner{
        bench, operations, message_bytes, bench.clock().now_s(), settings.budget_s, settings.tell};
    const double round_s =
        untimed_ratio * settings.expected_s * static_cast<double>(contenders.size());
    const auto most =
        static_cast<double>(std::min(settings.rule.repetitions_max, judgement_count_max));
    const double fits = round_s > 0.0 ? settings.time_limit_s / round_s : most;
    auto count = std::max(confirmation_count_min, static_cast<std::size_t>(std::min(fits, most)));
    count = within_share(count, round_s, settings.share_s);

    Verdict verdict;
    verdict.confirmation_root = settings.root;
    std::mt19937_64 random(settings.seed);
    std::vector<std::vector<double>> values(contenders.size());
    std::vector<bool> failed(contenders.size());
    const auto batch_max = std::min(settings.rule.batch_max, judgement_batch(count));
    for (const auto& scheduled : interleave(running, count, batch_max, random)) {
        auto& all = values[scheduled.contender];
        if (failed[scheduled.contender]) continue;
        if (!runner.fits(scheduled.count, all.empty() ? settings.expected_s : median(all))) {
            verdict.out_of_budget = true;
            break;
        }
        const auto batch = runner.run(scheduled, settings.root);
        if (!batch && scheduled.contender == 0) return batch.failure();
        failed[scheduled.contender] = !batch;
        if (batch) all.insert(all.end(), batch->values_s.begin(), batch->values_s.end());
    }
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        if (failed[i]) continue;
        // The sizes that were cut short would be compared by fewer values than the others.
        if (values[i].size() < std::min(count, confirmation_count_min)) {
            verdict.confirmation.clear();
            break;
        }
        verdict.confirmation.push_back(
            {i, {median_interval(values[i], settings.rule.confidence), values[i].size()}});
    }
    verdict.elapsed_s = runner.elapsed_s();
    return verdict;
}

}  // namespace lanewise::tune
