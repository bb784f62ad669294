// SPDX-License-Identifier: BSD-3-Clause
//
// See pair_rounds.hpp.

#include "measure/pair_rounds.hpp"

#include <algorithm>
#include <tuple>

namespace lanewise::measure {
namespace {

std::vector<int> participants(const Pairing& pairing) {
    auto all = pairing.peers;
    all.push_back(pairing.sender);
    std::sort(all.begin(), all.end());
    return all;
}

bool before(const Pairing& a, const Pairing& b) {
    return std::make_tuple(participants(a), a.sender) < std::make_tuple(participants(b), b.sender);
}

}  // namespace

std::vector<Round> pair_rounds(int rank_count) {
    std::vector<Round> rounds;
    if (rank_count < 2) return rounds;
    const int even = rank_count + rank_count % 2;
    const int circle = even - 1;
    for (int turn = 0; turn < circle; ++turn) {
        Round round;
        const auto meet = [&](int a, int b) {
            if (a < rank_count && b < rank_count)
                round.push_back({std::min(a, b), {std::max(a, b)}});
        };
        meet(turn, circle);
        for (int k = 1; k < even / 2; ++k) {
            meet((turn + k) % circle, (turn - k + circle) % circle);
        }
        rounds.push_back(std::move(round));
    }
    return rounds;
}

std::vector<Round> triplet_rounds(int rank_count) {
    std::vector<Pairing> waiting;
    for (int i = 0; i < rank_count; ++i) {
        for (int j = i + 1; j < rank_count; ++j) {
            for (int k = j + 1; k < rank_count; ++k) {
                waiting.push_back({i, {j, k}});
                waiting.push_back({j, {i, k}});
                waiting.push_back({k, {i, j}});
            }
        }
    }
    std::vector<Round> rounds;
    while (!waiting.empty()) {
        std::vector<bool> busy(static_cast<std::size_t>(rank_count));
        Round round;
        std::vector<Pairing> later;
        for (auto& pairing : waiting) {
            const auto ranks = participants(pairing);
            const bool clash = std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
                return busy[static_cast<std::size_t>(rank)];
            });
            if (clash) {
                later.push_back(std::move(pairing));
                continue;
            }
            for (const int rank : ranks) busy[static_cast<std::size_t>(rank)] = true;
            round.push_back(std::move(pairing));
        }
        rounds.push_back(std::move(round));
        waiting = std::move(later);
    }
    return rounds;
}

std::vector<Round> one_by_one(const std::vector<Round>& rounds) {
    std::vector<Pairing> pairings;
    for (const auto& round : rounds) pairings.insert(pairings.end(), round.begin(), round.end());
    std::sort(pairings.begin(), pairings.end(), before);
    std::vector<Round> single;
    for (auto& pairing : pairings) single.push_back({std::move(pairing)});
    return single;
}

}  // namespace lanewise::measure
