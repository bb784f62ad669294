// SPDX-License-Identifier: BSD-3-Clause
//
// Direct reduce: each rank combines one block of the vector, and the root collects them.
// Cost, with g the time to combine a byte: n a + 2 (n - 1)/n bM + (n - 1)/n gM.

#include "collectives/reduce/direct.hpp"

#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/bracketing.hpp"

namespace lanewise::collectives {

using model::Place;
using model::Slice;
using model::StepId;

namespace {

constexpr std::int64_t own_piece_bytes = std::int64_t{512} * 1024;

}  // namespace

std::int64_t direct_piece(const CallShape& shape, const Bounds& bounds) {
    return segments_of(shape, largest_block(shape, bounds), own_piece_bytes).piece;
}

std::int64_t direct_scratch_units_max(const CallShape& shape) {
    const Bounds bounds(shape.count, shape.ranks);
    const auto largest = bounds.size(0);
    const auto piece = std::min(direct_piece(shape, bounds), largest);
    // Two pieces from each rank, or the only one.
    return shape.ranks * (piece < largest ? 2 * piece : largest);
}

DirectReduction::DirectReduction(model::Builder& steps, const CallShape& shape,
                                 const Bounds& bounds, std::int64_t piece)
    : steps_(steps), shape_(shape), bounds_(bounds), piece_(piece) {
    const auto largest = largest_block(shape, bounds);
    pieces_ = Pieces{largest, piece}.number();
    const auto number = static_cast<std::size_t>(shape.ranks);
    sent_.assign(static_cast<std::size_t>(pieces_), std::vector(number, model::no_step));
    const auto kept = std::min(piece, bounds.size(shape.rank));
    for (std::size_t i = 0; i < slots_.size() && i < static_cast<std::size_t>(pieces_); ++i) {
        auto& slot = slots_[i];
        slot.own = steps.scratch(kept);
        slot.parts.resize(number);
        slot.here.assign(number, model::no_step);
        for (int rank = 0; rank < shape.ranks; ++rank) {
            if (rank == shape.rank) continue;
            slot.parts[static_cast<std::size_t>(rank)] = steps.scratch(kept);
        }
    }
}

std::int64_t DirectReduction::size(int piece, int rank) const {
    return std::clamp<std::int64_t>(bounds_.size(rank) - begin(piece), 0, piece_);
}

StepId DirectReduction::sent(int piece, int rank) const {
    return sent_[static_cast<std::size_t>(piece)][static_cast<std::size_t>(rank)];
}

void DirectReduction::exchange(int piece) {
    const int n = shape_.ranks;
    const int me = shape_.rank;
    auto& slot = this->slot(piece);
    // Nearest first, so that no rank is the first or the last one of all others.
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        const auto i = static_cast<std::size_t>(from);
        slot.here[i] = steps_.receive_after(slot.free, from, slot.parts[i], size(piece, me));
    }
    slot.free.clear();
    for (int distance = 1; distance < n; ++distance) {
        const int to = (me + distance) % n;
        sent_[static_cast<std::size_t>(piece)][static_cast<std::size_t>(to)] =
            steps_.send(to, {Place::send, bounds_[to] + begin(piece)}, size(piece, to));
    }
}

DirectPiece DirectReduction::combine(int piece, Slice wanted) {
    const int me = shape_.rank;
    auto& slot = this->slot(piece);
    const auto count = size(piece, me);
    struct Part {
        Slice at;
        StepId here = model::no_step;
    };
    std::vector<Part> parts;
    for (int rank = 0; rank < shape_.ranks; ++rank) {
        const auto i = static_cast<std::size_t>(rank);
        parts.push_back({slot.parts[i], slot.here[i]});
    }
    auto& own = parts[static_cast<std::size_t>(me)];
    own.at = {Place::send, bounds_[me] + begin(piece)};
    const bool is_last = me + 1 == shape_.ranks;
    // A right operand is overwritten. That of the last rank becomes the result.
    const auto writable = [&](const Part& part) -> Part {
        if (part.at.place != Place::send) return part;
        const auto to = is_last ? wanted : slot.own;
        return {to, steps_.copy(part.at, to, count)};
    };
    const auto combined = fold_balanced(parts, [&](const Part& left, const Part& right) -> Part {
        const auto result = writable(right);
        return {result.at,
                steps_.reduce(left.at, result.at, count, {left.here, result.here, right.here})};
    });
    slot.free.push_back(combined.here);
    return {combined.at, combined.here, begin(piece), count};
}

namespace {

// The root's result goes to its receive buffer; that of others leaves from where it came about.
void collect(model::Builder& steps, const CallShape& shape, const Bounds& bounds,
             DirectReduction& reduction, int piece) {
    const auto wanted = shape.is_root()
                            ? Slice{Place::receive, bounds[shape.rank] + reduction.begin(piece)}
                            : reduction.spare(piece);
    const auto result = reduction.combine(piece, wanted);
    if (!shape.is_root()) {
        reduction.leave(piece, steps.send(shape.root, result.at, result.count, {result.ready}));
        return;
    }
    reduction.leave(piece, steps.copy(result.at, wanted, result.count, {result.ready}));
    for (int rank = 0; rank < shape.ranks; ++rank) {
        if (rank == shape.rank) continue;
        // In place, the root's own part that lies there must have left.
        steps.receive(rank, {Place::receive, bounds[rank] + reduction.begin(piece)},
                      reduction.size(piece, rank), {reduction.sent(piece, rank)});
    }
}

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Bounds bounds(shape.count, shape.ranks);
    DirectReduction reduction(steps, shape, bounds, direct_piece(shape, bounds));
    if (reduction.pieces() > 0) reduction.exchange(0);
    for (int piece = 0; piece < reduction.pieces(); ++piece) {
        if (piece + 1 < reduction.pieces()) reduction.exchange(piece + 1);
        collect(steps, shape, bounds, reduction, piece);
    }
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm reduce_direct{
    .collective = Collective::reduce,
    .name = "direct",
    .source = "Thakur, Rabenseifner and Gropp, IJHPCA 19(1), 2005, pairwise exchange",
    .cost = "na + (n-1)/n (2b+g)M",
    .needs = {.segmented = true},
    .build = build,
    .scratch_units_max = direct_scratch_units_max,
    .bracketing = Bracketing::balanced,
};

}  // namespace lanewise::collectives
