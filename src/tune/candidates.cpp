// SPDX-License-Identifier: BSD-3-Clause
//
// See candidates.hpp.

#include "tune/candidates.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace lanewise::tune {
namespace {

constexpr std::array<std::int64_t, 3> segments_bytes = {8 << 10, 32 << 10, 128 << 10};

/* 0, and those of which a message has at least two. */
std::vector<std::int64_t> segments_for(bool segmented, std::uint64_t message_bytes) {
    std::vector<std::int64_t> found = {0};
    for (const auto segment_bytes : segments_bytes) {
        const bool fits = message_bytes / 2 >= static_cast<std::uint64_t>(segment_bytes);
        if (segmented && fits) found.push_back(segment_bytes);
    }
    return found;
}

std::vector<int> lanes_for(const collectives::Restrictions& needs, int lanes_max) {
    std::vector<int> found = {1};
    if (!needs.lanes) return found;
    for (int lanes = 2; lanes < lanes_max; lanes *= 2) found.push_back(lanes);
    if (lanes_max > 1) found.push_back(lanes_max);
    return found;
}

void add_lanewise(const collectives::Algorithm& algorithm, std::uint64_t message_bytes,
                  int lanes_max, std::vector<Candidate>& found) {
    // What crosses between sites is long under way: its own segments are chosen for that.
    const bool cut = algorithm.needs.segmented && !algorithm.needs.lanes;
    for (const int lanes : lanes_for(algorithm.needs, lanes_max)) {
        for (const auto segment : segments_for(cut, message_bytes)) {
            found.push_back({.origin = Origin::lanewise,
                             .algorithm = algorithm.name,
                             .segment_bytes = segment,
                             .lanes = lanes,
                             .lanewise = &algorithm,
                             .own = {}});
        }
    }
}

}  // namespace

std::vector<Candidate> candidates(collectives::Collective collective, std::uint64_t message_bytes,
                                  const collectives::CallTraits& call,
                                  const std::vector<MpiAlgorithm>& own) {
    std::vector<Candidate> found;
    for (const auto *algorithm : collectives::algorithms()) {
        if (algorithm->collective != collective) continue;
        if (!collectives::refusal(*algorithm, call).empty()) continue;
        // The same messages as those of linear, which is there already.
        if (algorithm->radix > 2 && algorithm->radix >= call.ranks) continue;
        add_lanewise(*algorithm, message_bytes, call.lanes_max, found);
    }
    for (const auto& algorithm : own) {
        for (const auto segment : segments_for(algorithm.segmented, message_bytes)) {
            found.push_back({.origin = Origin::mpi,
                             .algorithm = algorithm.name,
                             .segment_bytes = segment,
                             .lanewise = nullptr,
                             .own = algorithm});
        }
    }
    return found;
}

void keep_named(std::vector<Candidate>& candidates, const std::vector<std::string>& names) {
    if (names.empty()) return;
    std::erase_if(candidates, [&](const Candidate& candidate) {
        return std::find(names.begin(), names.end(), candidate.algorithm) == names.end();
    });
}

void keep_balanced(std::vector<Candidate>& candidates, const collectives::Algorithm *unless) {
    std::erase_if(candidates, [&](const Candidate& candidate) {
        const auto *algorithm = candidate.lanewise;
        if (!algorithm || algorithm->bracketing != collectives::Bracketing::balanced) return true;
        return algorithm == unless && candidate.segment_bytes == 0;
    });
}

void prune(std::vector<Candidate>& candidates, double dominated_ratio) {
    double best_s = std::numeric_limits<double>::infinity();
    for (const auto& candidate : candidates) {
        if (candidate.predicted_s >= 0.0) best_s = std::min(best_s, candidate.predicted_s);
    }
    for (auto& candidate : candidates) {
        candidate.pruned = candidate.predicted_s > dominated_ratio * best_s;
    }
}

}  // namespace lanewise::tune
