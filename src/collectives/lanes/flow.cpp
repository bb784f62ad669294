// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/lanes/flow.hpp"

#include <algorithm>

namespace lanewise::collectives {
namespace {

Travelling on_its_way(const Shape& shape, const Lane& lane, const Part& part) {
    Travelling one{.part = part};
    for (const int rank : {shape.root, lane.sender, lane.receiver, part.owner}) {
        if (one.stops > 0 && one.ranks[static_cast<std::size_t>(one.stops) - 1] == rank) continue;
        one.ranks[static_cast<std::size_t>(one.stops++)] = rank;
    }
    return one;
}

std::vector<Travelling> segments_of_lane(const Shape& shape, const Lane& lane,
                                         std::int64_t segment) {
    std::vector<Travelling> found;
    for (const auto& part : lane.parts) {
        for (std::int64_t done = 0; done < part.count; done += segment) {
            const auto count = std::min(segment, part.count - done);
            found.push_back(on_its_way(shape, lane, {part.owner, part.offset + done, count}));
        }
    }
    return found;
}

}  // namespace

int Travelling::place_of(int rank) const {
    for (int i = 0; i < stops; ++i) {
        if (ranks[static_cast<std::size_t>(i)] == rank) return i;
    }
    return -1;
}

std::vector<Travelling> flow_of(const Shape& shape, const std::vector<Lane>& lanes,
                                std::int64_t segment) {
    struct Turn {
        double at;
        Travelling segment;
    };
    std::vector<Turn> turns;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        auto segments = segments_of_lane(shape, lanes[i], segment);
        for (std::size_t k = 0; k < segments.size(); ++k) {
            segments[k].lane = static_cast<int>(i);
            const double at = static_cast<double>(k) / static_cast<double>(segments.size());
            turns.push_back({at, segments[k]});
        }
    }
    std::stable_sort(turns.begin(), turns.end(),
                     [](const Turn& left, const Turn& right) { return left.at < right.at; });
    std::vector<Travelling> flow;
    flow.reserve(turns.size());
    for (const auto& turn : turns) flow.push_back(turn.segment);
    return flow;
}

}  // namespace lanewise::collectives
