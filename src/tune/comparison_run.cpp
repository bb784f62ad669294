// SPDX-License-Identifier: BSD-3-Clause
//
// See comparison_run.hpp.

#include "tune/comparison_run.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <random>

namespace lanewise::tune {
namespace {

// Of each kind, so that a choice is left where neighbouring sizes disagree.
constexpr std::size_t confirmed_max = 3;
constexpr std::size_t confirmation_count_min = 20;
// More would narrow an interval that the differences between launches make wider anyway.
constexpr std::size_t judgement_count_max = 200;
// What a comparison may take of the time; the rest is for its confirmation.
constexpr double comparison_share = 0.7;

// Beside what is timed there are the start, the warm-up and what comes between.
constexpr double untimed_ratio = 1.5;
constexpr std::size_t untimed_repetitions = 2;

struct Runner {
    measure::Bench& bench;
    const std::vector<lw_operation>& operations;
    std::uint64_t message_bytes;
    double begin_s;
    double budget_s = std::numeric_limits<double>::infinity();

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
        return bench.run_batch({&operations[scheduled.contender], root, message_bytes},
                               scheduled.count);
    }
};

/* How long a repetition will take, from what is known: as long as those before. Who has not run yet
   may be far slower than the reference. */
double expected_s(const Comparison& comparison, std::size_t contender, double before_s) {
    constexpr double unknown_ratio = 4.0;
    const auto& own = comparison.values(contender);
    if (!own.empty()) return median(own);
    const auto& reference = comparison.values(0);
    return reference.empty() ? before_s : unknown_ratio * median(reference);
}

/* Whether there was budget for all of it. */
Result<bool> run_rounds(const Runner& runner, Comparison& comparison,
                        const ComparisonOptions& settings) {
    const double time_limit_s =
        (settings.confirms ? comparison_share : 1.0) * settings.time_limit_s;
    for (auto batches = comparison.next_round(); !batches.empty();
         batches = comparison.next_round()) {
        bool out_of_time = false;
        for (const auto& scheduled : batches) {
            // Everybody gets a first look, however little time there is.
            const bool first_look = comparison.values(scheduled.contender).empty();
            if (!first_look && out_of_time) continue;
            if (comparison.state(scheduled.contender) == CandidateState::failed) continue;
            const auto repetition_s =
                expected_s(comparison, scheduled.contender, settings.expected_s);
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

Result<Verdict> run_comparison(measure::Bench& bench, const std::vector<Contender>& contenders,
                               std::uint64_t message_bytes, const ComparisonOptions& settings) {
    std::vector<lw_operation> operations;
    std::vector<bool> pruned;
    for (const auto& contender : contenders) {
        operations.push_back(operation_of(contender.name, contender.implementation));
        pruned.push_back(contender.pruned);
    }
    const Runner runner{bench, operations, message_bytes, bench.clock().now_s(), settings.budget_s};
    Comparison comparison(settings.rule, pruned, settings.seed);
    const auto compared = run_rounds(runner, comparison, settings);
    if (!compared) return compared.failure();

    Verdict verdict;
    verdict.out_of_budget = !*compared;
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
    const Runner runner{bench, operations, message_bytes, bench.clock().now_s(), settings.budget_s};
    const double round_s =
        untimed_ratio * settings.expected_s * static_cast<double>(contenders.size());
    const auto most =
        static_cast<double>(std::min(settings.rule.repetitions_max, judgement_count_max));
    const double fits = round_s > 0.0 ? settings.time_limit_s / round_s : most;
    const auto count =
        std::max(confirmation_count_min, static_cast<std::size_t>(std::min(fits, most)));

    Verdict verdict;
    verdict.confirmation_root = settings.root;
    std::mt19937_64 random(settings.seed);
    std::vector<std::vector<double>> values(contenders.size());
    std::vector<bool> failed(contenders.size());
    const auto batch_max = std::min(settings.rule.batch_max, count / 4);
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
        if (values[i].size() < confirmation_count_min) {
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
