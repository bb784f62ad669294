// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/blocks.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::int64_t pieces_max = 4096;

}  // namespace

Bounds::Bounds(const CallShape& shape, const RankOrder& order) : least_(shape.count) {
    if (shape.counts.empty()) return;
    begins_.resize(static_cast<std::size_t>(shape.ranks) + 1);
    for (int node = 0; node < shape.ranks; ++node) {
        const auto i = static_cast<std::size_t>(node);
        begins_[i + 1] = begins_[i] + shape.count_of(order.rank_at(node));
    }
}

std::int64_t largest_block(const CallShape& shape, const Bounds& bounds) {
    std::int64_t largest = 0;
    for (int rank = 0; rank < shape.ranks; ++rank) largest = std::max(largest, bounds.size(rank));
    return largest;
}

std::vector<Stretch> stretches_of(const CallShape& shape, const RankOrder& order, int begin,
                                  int end) {
    std::vector<Stretch> found;
    std::int64_t in_row = 0;
    for (int node = begin; node < end; ++node) {
        const int rank = order.rank_at(node);
        const auto count = shape.count_of(rank);
        const auto in_buffer = shape.offset_of(rank);
        if (count == 0) continue;
        if (!found.empty() && found.back().in_buffer + found.back().count == in_buffer) {
            found.back().count += count;
        } else {
            found.push_back({in_row, in_buffer, count});
        }
        in_row += count;
    }
    return found;
}

PackedBlocks packed_blocks(model::Builder& steps, const std::vector<Stretch>& stretches,
                           model::Slice blocks, model::StepId ready) {
    if (stretches.empty()) return {blocks, ready};
    if (stretches.size() == 1) return {blocks.at(stretches.front().in_buffer), ready};
    const auto& end = stretches.back();
    const auto packed = steps.scratch(end.in_row + end.count);
    for (const auto& stretch : stretches) {
        ready = steps.copy(blocks.at(stretch.in_buffer), packed.at(stretch.in_row), stretch.count,
                           {ready});
    }
    return {packed, ready};
}

Row::Row(model::Builder& steps, const CallShape& shape, const RankOrder& order)
    : bounds(shape, order), stretches(stretches_of(shape, order, 0, shape.ranks)) {
    const bool in_order = stretches.size() <= 1;
    if (!in_order) begin = steps.scratch(bounds[shape.ranks]);
    if (stretches.size() == 1) begin = {model::Place::receive, stretches.front().in_buffer};
}

void Row::deliver(model::Builder& steps, std::span<const model::StepId> arrived) const {
    if (begin.place != model::Place::scratch) return;
    std::vector<model::StepId> after(arrived.begin(), arrived.end());
    for (const auto& stretch : stretches) {
        const auto copied =
            steps.copy_after(after, begin.at(stretch.in_row),
                             {model::Place::receive, stretch.in_buffer}, stretch.count);
        after.assign(1, copied);
    }
}

Pieces segments_of(const CallShape& shape, std::int64_t count, std::int64_t own_bytes) {
    const auto wanted =
        shape.segment > 0 ? shape.segment : own_bytes / std::max<std::int64_t>(shape.unit_bytes, 1);
    const auto least = (count + pieces_max - 1) / pieces_max;
    return {count, std::max({wanted, least, std::int64_t{1}})};
}

}  // namespace lanewise::collectives
