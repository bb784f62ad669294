// SPDX-License-Identifier: BSD-3-Clause
//
// See comparison.hpp.

#include "tune/comparison.hpp"

#include <algorithm>
#include <limits>

namespace lanewise::tune {
namespace {

// Two passes at least: one batch can lie whole within a disturbance.
constexpr std::size_t passes_min = 2;
// Fewer values than this decide nothing (research on paired runs asks for 20).
constexpr std::size_t decisive_count = 20;
constexpr std::size_t pruned_count = 5;

}  // namespace

bool clearly_below(const Interval& faster, const Interval& slower, double margin) {
    return faster.high < slower.low * (1.0 - margin);
}

std::vector<ScheduledBatch> interleave(std::span<const std::size_t> contenders, std::size_t count,
                                       std::size_t batch_max, std::mt19937_64& random) {
    const auto passes = std::max(std::min(count, passes_min), (count + batch_max - 1) / batch_max);
    std::vector<std::size_t> order(contenders.begin(), contenders.end());
    std::vector<ScheduledBatch> batches;
    for (std::size_t pass = 0; pass < passes; ++pass) {
        if (pass % 2 == 0) {
            std::shuffle(order.begin(), order.end(), random);
        } else {
            std::reverse(order.begin(), order.end());
        }
        const auto share = count * (pass + 1) / passes - count * pass / passes;
        for (const auto contender : order) batches.push_back({contender, share});
    }
    return batches;
}

Comparison::Comparison(const ComparisonRule& rule, const std::vector<bool>& pruned,
                       std::uint64_t seed)
    : rule_(rule), contenders_(pruned.size()), random_(seed) {
    for (std::size_t i = 1; i < pruned.size(); ++i) contenders_[i].pruned = pruned[i];
}

Interval Comparison::interval(std::size_t contender) const {
    return median_interval(contenders_[contender].values_s, rule_.confidence);
}

bool Comparison::runs(std::size_t contender) const {
    return contenders_[contender].state == CandidateState::comparing;
}

bool Comparison::over() const {
    if (stopped_ || contenders_.front().state == CandidateState::failed) return true;
    if (contenders_.front().values_s.size() >= rule_.repetitions_max) return true;
    for (std::size_t i = 1; i < size(); ++i) {
        if (runs(i)) return false;
    }
    // Without a candidate left the reference is still worth its first look.
    return contenders_.front().values_s.size() >= rule_.repetitions_min;
}

std::vector<ScheduledBatch> Comparison::next_round() {
    if (over()) return {};
    std::vector<std::size_t> running = {0};
    std::vector<std::size_t> briefly;
    for (std::size_t i = 1; i < size(); ++i) {
        if (runs(i)) (contenders_[i].pruned ? briefly : running).push_back(i);
    }
    const auto done = contenders_.front().values_s.size();
    const auto aim = std::min(std::max(rule_.repetitions_min, 2 * done), rule_.repetitions_max);
    auto batches = interleave(running, aim > done ? aim - done : 1, rule_.batch_max, random_);
    for (const auto contender : briefly) batches.push_back({contender, pruned_count});
    return batches;
}

void Comparison::add(std::size_t contender, std::span<const double> values_s) {
    auto& all = contenders_[contender].values_s;
    all.insert(all.end(), values_s.begin(), values_s.end());
}

void Comparison::withdraw(std::size_t contender) {
    contenders_[contender].state = CandidateState::failed;
    contenders_[contender].values_s.clear();
}

bool Comparison::told_apart(std::size_t winner) const {
    const auto mine = interval(winner);
    if (mine.relative_error() <= rule_.error) return true;
    for (std::size_t i = 1; i < size(); ++i) {
        const auto state = contenders_[i].state;
        if (i == winner || (state != CandidateState::won && state != CandidateState::comparing))
            continue;
        const auto theirs = interval(i);
        if (theirs.low <= mine.high && mine.low <= theirs.high) return false;
    }
    return true;
}

void Comparison::judge(std::size_t candidate, const Interval& reference, double fastest_s) {
    auto& contender = contenders_[candidate];
    const auto mine = interval(candidate);
    if (contender.pruned || mine.low > rule_.dominated_ratio * fastest_s) {
        contender.state = CandidateState::dominated;
    } else if (contender.values_s.size() >= decisive_count &&
               mine.low >= reference.high * (1.0 - rule_.margin)) {
        contender.state = CandidateState::lost;
    }
}

void Comparison::end_round() {
    double fastest_s = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < size(); ++i) {
        const bool measured = !contenders_[i].values_s.empty() && !contenders_[i].pruned;
        if (measured) fastest_s = std::min(fastest_s, interval(i).high);
    }
    const auto reference = interval(0);
    for (std::size_t i = 1; i < size(); ++i) {
        if (runs(i)) judge(i, reference, fastest_s);
    }
    // Those that win stay while the best of them is still unknown.
    std::vector<std::size_t> leaving;
    for (std::size_t i = 1; i < size(); ++i) {
        if (!runs(i) || contenders_[i].values_s.size() < decisive_count) continue;
        if (clearly_below(interval(i), reference, rule_.margin) && told_apart(i)) {
            leaving.push_back(i);
        }
    }
    for (const auto i : leaving) contenders_[i].state = CandidateState::won;
    if (over()) stop();
}

void Comparison::stop() {
    stopped_ = true;
    const auto reference = interval(0);
    for (std::size_t i = 1; i < size(); ++i) {
        if (!runs(i)) continue;
        const bool enough = contenders_[i].values_s.size() >= decisive_count;
        const bool below = enough && clearly_below(interval(i), reference, rule_.margin);
        contenders_[i].state = below ? CandidateState::won : CandidateState::exhausted;
    }
}

std::vector<std::size_t> Comparison::winners() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 1; i < size(); ++i) {
        if (contenders_[i].state == CandidateState::won) found.push_back(i);
    }
    std::stable_sort(found.begin(), found.end(), [this](std::size_t a, std::size_t b) {
        return interval(a).center < interval(b).center;
    });
    return found;
}

}  // namespace lanewise::tune
