// SPDX-License-Identifier: BSD-3-Clause
//
// See candidates.hpp.

#include "tune/candidates.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>

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

// Once a line is full, more lanes differ little: the model would rule out hardly any of them, and
// all would have to be measured.
constexpr int every_number_of_lanes_max = 16;

bool is_doubling(int lanes) {
    return (lanes & (lanes - 1)) == 0;
}

std::vector<int> lanes_for(const collectives::Restrictions& needs,
                           const collectives::CallTraits& call) {
    std::vector<int> found = {1};
    if (!needs.lanes) return found;
    for (int lanes = 2; lanes <= call.lanes_max; ++lanes) {
        const bool can_be_ruled_out = call.platform && lanes <= every_number_of_lanes_max;
        if (can_be_ruled_out || is_doubling(lanes) || lanes == call.lanes_max) {
            found.push_back(lanes);
        }
    }
    return found;
}

void add_lanewise(const collectives::Algorithm& algorithm, std::uint64_t message_bytes,
                  const collectives::CallTraits& call, std::vector<Candidate>& found) {
    // What crosses between sites is long under way: its own segments are chosen for that.
    const bool cut = algorithm.needs.segmented && !algorithm.needs.lanes;
    for (const int lanes : lanes_for(algorithm.needs, call)) {
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

std::vector<const collectives::Algorithm *> named_or_listed(collectives::Collective collective,
                                                            const std::vector<std::string>& names) {
    std::vector<const collectives::Algorithm *> found;
    for (const auto *algorithm : collectives::algorithms()) {
        if (algorithm->collective == collective) found.push_back(algorithm);
    }
    for (const auto& name : names) {
        const auto *algorithm = collectives::find_algorithm(collective, name);
        if (algorithm && std::ranges::count(found, algorithm) == 0) found.push_back(algorithm);
    }
    return found;
}

}  // namespace

std::vector<Candidate> candidates(collectives::Collective collective, std::uint64_t message_bytes,
                                  const collectives::CallTraits& call,
                                  const std::vector<MpiAlgorithm>& own,
                                  const std::vector<std::string>& names) {
    std::vector<Candidate> found;
    for (const auto *algorithm : named_or_listed(collective, names)) {
        if (!collectives::refusal(*algorithm, call).empty()) continue;
        // The same messages as those of linear, which is there already.
        if (algorithm->radix > 2 && algorithm->radix >= call.ranks) continue;
        add_lanewise(*algorithm, message_bytes, call, found);
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

void rule_out_lanes(std::vector<Candidate>& candidates, double ratio) {
    std::map<std::string, double> best_s;
    std::map<std::string, int> most;
    for (const auto& candidate : candidates) {
        auto& lanes = most[candidate.algorithm];
        lanes = std::max(lanes, candidate.lanes);
        if (candidate.predicted_s < 0.0) continue;
        const auto [found, is_new] = best_s.try_emplace(candidate.algorithm, candidate.predicted_s);
        found->second = std::min(found->second, candidate.predicted_s);
    }
    std::erase_if(candidates, [&](const Candidate& candidate) {
        if (is_doubling(candidate.lanes) || candidate.lanes == most[candidate.algorithm]) {
            return false;
        }
        const bool predicted = candidate.predicted_s >= 0.0;
        return !predicted || candidate.predicted_s > ratio * best_s.at(candidate.algorithm);
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
