// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/reduce_scatter/round_ring.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Slice;
using model::StepId;

constexpr std::int64_t segment_bytes = std::int64_t{256} * 1024;

/* A block on its way round the ring. */
struct Travelling {
    Slice at;
    Pieces pieces;
    std::vector<StepId> here;
};

/* Room for a block, and the sends that still read from it. */
struct Room {
    Slice at;
    std::vector<StepId> read_by;
};

Travelling take_in(model::Builder& steps, const CallShape& shape, const Room& room, Pieces pieces) {
    Travelling coming{room.at, pieces, {}};
    const int left = (shape.rank - 1 + shape.ranks) % shape.ranks;
    for (int i = 0; i < pieces.number(); ++i) {
        const auto read = room.read_by[static_cast<std::size_t>(i)];
        coming.here.push_back(
            steps.receive(left, room.at.at(pieces.begin(i)), pieces.size(i), {read}));
    }
    return coming;
}

void add_own(model::Builder& steps, Slice own, Travelling& block) {
    for (int i = 0; i < block.pieces.number(); ++i) {
        auto& here = block.here[static_cast<std::size_t>(i)];
        const auto begin = block.pieces.begin(i);
        here = steps.reduce(own.at(begin), block.at.at(begin), block.pieces.size(i), {here});
    }
}

void pass_on(model::Builder& steps, const CallShape& shape, const Travelling& block,
             std::vector<StepId>& sent) {
    for (int i = 0; i < block.pieces.number(); ++i) {
        const auto piece = static_cast<std::size_t>(i);
        sent[piece] = steps.send((shape.rank + 1) % shape.ranks, block.at.at(block.pieces.begin(i)),
                                 block.pieces.size(i), {block.here[piece]});
    }
}

}  // namespace

RingReduced reduce_round_ring(model::Builder& steps, const CallShape& shape, const Bounds& bounds) {
    const int n = shape.ranks;
    const auto largest = segments_of(shape, largest_block(shape, bounds), segment_bytes);
    const auto pieces_most = static_cast<std::size_t>(largest.number());
    const auto block_at = [&](int back) { return (shape.rank - back + 2 * n) % n; };
    const auto own = [&](int block) { return Slice{Place::send, bounds[block]}; };
    const auto pieces = [&](int block) { return Pieces{bounds.size(block), largest.piece}; };

    // While one block comes in, one is added to and passed on, and one is on its way out.
    std::vector<Room> rooms(n > 1 ? 3 : 0);
    for (auto& room : rooms) {
        room = {steps.scratch(largest.count), std::vector(pieces_most, model::no_step)};
    }
    RingReduced reduced;
    reduced.pieces = pieces(shape.rank);
    reduced.sent.resize(pieces_most, model::no_step);
    Travelling block{own(block_at(1)), pieces(block_at(1)), {}};
    block.here.resize(pieces_most, model::no_step);
    auto *sent = &reduced.sent;
    for (int round = 0; round + 1 < n; ++round) {
        auto& room = rooms[static_cast<std::size_t>(round) % 3];
        auto coming = take_in(steps, shape, room, pieces(block_at(round + 2)));
        if (round > 0) add_own(steps, own(block_at(round + 1)), block);
        pass_on(steps, shape, block, *sent);
        sent = &room.read_by;
        block = std::move(coming);
    }
    if (n > 1) add_own(steps, own(shape.rank), block);
    reduced.at = n > 1 ? block.at : own(shape.rank);
    reduced.ready = block.here;
    return reduced;
}

}  // namespace lanewise::collectives
