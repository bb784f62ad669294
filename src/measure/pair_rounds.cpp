// SPDX-License-Identifier: BSD-3-Clause
//
// See pair_rounds.hpp.

#include "measure/pair_rounds.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

namespace lanewise::measure {
namespace {

// The participants in order, and then the sender.
std::array<int, 4> place_in_order(const Pairing& pairing) {
    std::array<int, 4> place{pairing.sender, pairing.peers.front(), pairing.peers.back(),
                             pairing.sender};
    std::sort(place.begin(), place.begin() + 3);
    return place;
}

/* The triplets that wait for a round. Those of three ranks i < j < k wait as a stack: i sends in
   the first of them, then j, then k. */
class Triplets {
  public:
    explicit Triplets(int rank_count)
        : ranks_(static_cast<std::size_t>(rank_count)),
          of_three_(ranks_ * ranks_ * ranks_, 3),
          of_two_(ranks_ * ranks_) {
        for (std::size_t j = 0; j < ranks_; ++j) {
            for (std::size_t i = 0; i < j; ++i) of_two_[i * ranks_ + j] = 3 * (ranks_ - 1 - j);
        }
    }

    /* Takes the first that begins with `i` and has only free ranks, which are busy then. */
    std::optional<Pairing> take(std::size_t i, std::vector<bool>& busy) {
        for (auto j = i + 1; j < ranks_; ++j) {
            auto& left_of_two = of_two_[i * ranks_ + j];
            if (busy[j] || left_of_two == 0) continue;
            for (auto k = j + 1; k < ranks_; ++k) {
                auto& left = of_three_[(i * ranks_ + j) * ranks_ + k];
                if (busy[k] || left == 0) continue;
                --left_of_two;
                busy[i] = busy[j] = busy[k] = true;
                return pairing_of(static_cast<int>(i), static_cast<int>(j), static_cast<int>(k),
                                  left--);
            }
        }
        return std::nullopt;
    }

  private:
    static Pairing pairing_of(int i, int j, int k, int left) {
        if (left == 3) return {i, {j, k}};
        if (left == 2) return {j, {i, k}};
        return {k, {i, j}};
    }

    std::size_t ranks_;
    std::vector<std::uint8_t> of_three_;
    std::vector<std::size_t> of_two_; /* of those whose first two ranks are these */
};

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
    std::vector<Round> rounds;
    if (rank_count < 3) return rounds;
    const auto ranks = static_cast<std::size_t>(rank_count);
    Triplets waiting(rank_count);
    for (auto left = ranks * (ranks - 1) * (ranks - 2) / 2; left > 0;) {
        std::vector<bool> busy(ranks);
        Round round;
        for (std::size_t i = 0; i < ranks && ranks - 3 * round.size() >= 3; ++i) {
            if (busy[i]) continue;
            auto triplet = waiting.take(i, busy);
            if (triplet) round.push_back(std::move(*triplet));
        }
        left -= round.size();
        rounds.push_back(std::move(round));
    }
    return rounds;
}

std::vector<Round> one_by_one(const std::vector<Round>& rounds) {
    std::vector<std::pair<std::array<int, 4>, const Pairing *>> pairings;
    for (const auto& round : rounds) {
        for (const auto& pairing : round) pairings.emplace_back(place_in_order(pairing), &pairing);
    }
    std::sort(pairings.begin(), pairings.end());
    std::vector<Round> single;
    for (const auto& [place, pairing] : pairings) single.push_back({*pairing});
    return single;
}

}  // namespace lanewise::measure
