// SPDX-License-Identifier: BSD-3-Clause
//
// See race.hpp.

#include "tune/comparison.hpp"

#include <algorithm>
#include <limits>

namespace lanewise::tools {
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

std::vector<Heat> take_turns(std::span<const std::size_t> entrants, std::size_t count,
                             std::size_t batch_max, std::mt19937_64& random) {
    const auto passes = std::max(std::min(count, passes_min), (count + batch_max - 1) / batch_max);
    std::vector<std::size_t> order(entrants.begin(), entrants.end());
    std::vector<Heat> batches;
    for (std::size_t pass = 0; pass < passes; ++pass) {
        if (pass % 2 == 0) {
            std::shuffle(order.begin(), order.end(), random);
        } else {
            std::reverse(order.begin(), order.end());
        }
        const auto share = count * (pass + 1) / passes - count * pass / passes;
        for (const auto entrant : order) batches.push_back({entrant, share});
    }
    return batches;
}

Race::Race(const RaceRule& rule, const std::vector<bool>& pruned, std::uint64_t seed)
    : rule_(rule), entrants_(pruned.size()), random_(seed) {
    for (std::size_t i = 1; i < pruned.size(); ++i) entrants_[i].pruned = pruned[i];
}

Interval Race::interval(std::size_t entrant) const {
    return median_interval(entrants_[entrant].values_s, rule_.confidence);
}

bool Race::runs(std::size_t entrant) const {
    return entrants_[entrant].standing == Standing::racing;
}

bool Race::over() const {
    if (stopped_ || entrants_.front().standing == Standing::failed) return true;
    if (entrants_.front().values_s.size() >= rule_.repetitions_max) return true;
    for (std::size_t i = 1; i < size(); ++i) {
        if (runs(i)) return false;
    }
    // Without a candidate left the reference is still worth its first look.
    return entrants_.front().values_s.size() >= rule_.repetitions_min;
}

std::vector<Heat> Race::next_round() {
    if (over()) return {};
    std::vector<std::size_t> running = {0};
    std::vector<std::size_t> briefly;
    for (std::size_t i = 1; i < size(); ++i) {
        if (runs(i)) (entrants_[i].pruned ? briefly : running).push_back(i);
    }
    const auto done = entrants_.front().values_s.size();
    const auto aim = std::min(std::max(rule_.repetitions_min, 2 * done), rule_.repetitions_max);
    auto batches = take_turns(running, aim > done ? aim - done : 1, rule_.batch_max, random_);
    for (const auto entrant : briefly) batches.push_back({entrant, pruned_count});
    return batches;
}

void Race::add(std::size_t entrant, std::span<const double> values_s) {
    auto& all = entrants_[entrant].values_s;
    all.insert(all.end(), values_s.begin(), values_s.end());
}

void Race::withdraw(std::size_t entrant) {
    entrants_[entrant].standing = Standing::failed;
}

bool Race::told_apart(std::size_t winner) const {
    const auto mine = interval(winner);
    if (mine.relative_error() <= rule_.error) return true;
    for (std::size_t i = 1; i < size(); ++i) {
        const auto standing = entrants_[i].standing;
        if (i == winner || (standing != Standing::won && standing != Standing::racing)) continue;
        const auto theirs = interval(i);
        if (theirs.low <= mine.high && mine.low <= theirs.high) return false;
    }
    return true;
}

void Race::judge(std::size_t candidate, const Interval& reference, double fastest_s) {
    auto& entrant = entrants_[candidate];
    const auto mine = interval(candidate);
    if (entrant.pruned || mine.low > rule_.hopeless_ratio * fastest_s) {
        entrant.standing = Standing::hopeless;
    } else if (entrant.values_s.size() >= decisive_count &&
               mine.low >= reference.high * (1.0 - rule_.margin)) {
        entrant.standing = Standing::lost;
    }
}

void Race::end_round() {
    double fastest_s = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < size(); ++i) {
        const bool measured = !entrants_[i].values_s.empty() && !entrants_[i].pruned;
        if (measured) fastest_s = std::min(fastest_s, interval(i).high);
    }
    const auto reference = interval(0);
    for (std::size_t i = 1; i < size(); ++i) {
        if (runs(i)) judge(i, reference, fastest_s);
    }
    // Those that win stay while the best of them is still unknown.
    std::vector<std::size_t> leaving;
    for (std::size_t i = 1; i < size(); ++i) {
        if (!runs(i) || entrants_[i].values_s.size() < decisive_count) continue;
        if (clearly_below(interval(i), reference, rule_.margin) && told_apart(i)) {
            leaving.push_back(i);
        }
    }
    for (const auto i : leaving) entrants_[i].standing = Standing::won;
    if (over()) stop();
}

void Race::stop() {
    stopped_ = true;
    const auto reference = interval(0);
    for (std::size_t i = 1; i < size(); ++i) {
        if (!runs(i)) continue;
        const bool enough = entrants_[i].values_s.size() >= decisive_count;
        const bool below = enough && clearly_below(interval(i), reference, rule_.margin);
        entrants_[i].standing = below ? Standing::won : Standing::exhausted;
    }
}

std::vector<std::size_t> Race::winners() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 1; i < size(); ++i) {
        if (entrants_[i].standing == Standing::won) found.push_back(i);
    }
    std::stable_sort(found.begin(), found.end(), [this](std::size_t a, std::size_t b) {
        return interval(a).center < interval(b).center;
    });
    return found;
}

}  // namespace lanewise::tools
