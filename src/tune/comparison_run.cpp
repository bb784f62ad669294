// SPDX-License-Identifier: BSD-3-Clause
//
// See comparison_run.hpp.

#include "tune/comparison_run.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace lanewise::tune {
namespace {

// Of each kind, so that a choice is left where neighbouring sizes disagree.
constexpr std::size_t confirmed_max = 3;
constexpr std::size_t confirmation_count_min = 20;
// What a comparison may take of the time; the rest is for its confirmation.
constexpr double comparison_share = 0.7;

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

    Result<measure::Batch> run(const ScheduledBatch& scheduled, int root) const {
        return bench.run_batch({&operations[scheduled.contender], root, message_bytes},
                               scheduled.count);
    }
};

Outcome run_rounds(const Runner& runner, Comparison& comparison, double time_limit_s) {
    for (auto batches = comparison.next_round(); !batches.empty();
         batches = comparison.next_round()) {
        bool out_of_time = false;
        for (const auto& scheduled : batches) {
            // Everybody gets a first look, however little time there is.
            const bool first_look = comparison.values(scheduled.contender).empty();
            if (!first_look && out_of_time) continue;
            if (comparison.state(scheduled.contender) == CandidateState::failed) continue;
            const auto batch = runner.run(scheduled, 0);
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
    return Done{};
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

/* The implementations as they are confirmed: with as much work meanwhile as the reference took
 * alone. */
std::vector<Implementation> implementations_to_confirm(const std::vector<Contender>& contenders,
                                                       const Comparison& comparison) {
    const double alone_s = comparison.interval(0).center;
    std::vector<Implementation> implementations;
    for (const auto& contender : contenders) {
        implementations.push_back(contender.working ? contender.working(alone_s)
                                                    : contender.implementation);
    }
    return implementations;
}

Outcome confirm(const Runner& runner, const Comparison& comparison,
                const std::vector<std::size_t>& running, const ComparisonOptions& settings,
                Verdict& verdict) {
    const double time_left_s = settings.time_limit_s - runner.elapsed_s();
    const auto count = confirmation_count(comparison, running, settings.rule, time_left_s);
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
    const Runner runner{bench, operations, message_bytes, bench.clock().now_s()};
    Comparison comparison(settings.rule, pruned, settings.seed);
    const auto compared = run_rounds(runner, comparison, comparison_share * settings.time_limit_s);
    if (!compared) return compared.failure();

    Verdict verdict;
    verdict.confirmation_root = settings.rooted ? bench.harness().size() - 1 : 0;
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        verdict.compared.push_back({comparison.interval(i), comparison.values(i).size()});
        verdict.states.push_back(comparison.state(i));
    }
    auto running = finalists(comparison, contenders);
    if (!running.empty()) {
        running.insert(running.begin(), 0);
        const auto implementations = implementations_to_confirm(contenders, comparison);
        std::vector<lw_operation> again;
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            again.push_back(operation_of(contenders[i].name, implementations[i]));
        }
        const Runner confirming{bench, again, message_bytes, runner.begin_s};
        const auto confirmed = confirm(confirming, comparison, running, settings, verdict);
        if (!confirmed) return confirmed.failure();
    }
    verdict.elapsed_s = runner.elapsed_s();
    return verdict;
}

}  // namespace lanewise::tune
