// SPDX-License-Identifier: BSD-3-Clause

#include "model/simulation/matching.hpp"

#include <algorithm>

namespace lanewise::model {
namespace {

constexpr std::uint32_t nobody = UINT32_MAX;

std::uint64_t pair_of(int from, int to) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32 |
           static_cast<std::uint32_t>(to);
}

}  // namespace

std::optional<std::uint32_t> Matching::meet(Side side, int from, int to, std::uint32_t id) {
    const auto [found, is_new] = lines_.try_emplace(pair_of(from, to), Line{side, nobody, nobody});
    Line& line = found->second;
    if (is_new) {
        line.first = line.last = keep(id);
        return std::nullopt;
    }
    if (line.side == side) {
        const auto slot = keep(id);
        waiting_[line.last].next = slot;
        line.last = slot;
        return std::nullopt;
    }
    const Waiting met = waiting_[line.first];
    unused_.push_back(line.first);
    line.first = met.next;
    if (line.first == nobody) lines_.erase(found);
    return met.id;
}

std::vector<Matching::Lonely> Matching::lonely() const {
    std::vector<std::pair<std::uint64_t, Line>> lines(lines_.begin(), lines_.end());
    std::sort(lines.begin(), lines.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Lonely> all;
    for (const auto& [pair, line] : lines) {
        for (auto slot = line.first; slot != nobody; slot = waiting_[slot].next) {
            all.push_back({line.side, static_cast<int>(pair >> 32),
                           static_cast<int>(pair & UINT32_MAX), waiting_[slot].id});
        }
    }
    return all;
}

std::uint32_t Matching::keep(std::uint32_t id) {
    if (unused_.empty()) {
        waiting_.push_back({id, nobody});
        return static_cast<std::uint32_t>(waiting_.size() - 1);
    }
    const auto slot = unused_.back();
    unused_.pop_back();
    waiting_[slot] = {id, nobody};
    return slot;
}

}  // namespace lanewise::model
