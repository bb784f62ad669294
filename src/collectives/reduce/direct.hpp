// SPDX-License-Identifier: BSD-3-Clause
//
// Direct reduction of blocks: each rank gets its block of the vector from every other rank and
// combines the n parts by itself, in the balanced bracketing. As much moves as in the reductions
// that move least. Blocks travel in pieces: while one is combined the next is on its way, and both
// fit into the cache.

#pragma once

#include <array>
#include <vector>

#include "collectives/blocks.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* `count` units of the result, `begin` units into a block, and when they are there. */
struct DirectPiece {
    model::Slice at;
    model::StepId ready = model::no_step;
    std::int64_t begin = 0;
    std::int64_t count = 0;
};

class DirectReduction {
  public:
    /* All blocks are cut into pieces of `piece` units. */
    DirectReduction(model::Builder& steps, const CallShape& shape, const Bounds& bounds,
                    std::int64_t piece);

    /* Of the largest block; that of another rank may have one less. */
    int pieces() const { return pieces_; }
    /* Where a piece of a rank's block begins in it, and its units, 0 where it has none. */
    std::int64_t begin(int piece) const { return piece_ * piece; }
    std::int64_t size(int piece, int rank) const;

    /* Starts to exchange a piece; after the one before it, and once that before is left alone. */
    void exchange(int piece);
    /* Combines a piece that is exchanged. It may come to lie at `wanted`, which is not written to
       before this rank's own part of the piece has been read. */
    DirectPiece combine(int piece, model::Slice wanted);
    /* Memory for a result that nobody else asks for. */
    model::Slice spare(int piece) { return slot(piece).own; }
    /* Says that the result of a piece is read until `done`. */
    void leave(int piece, model::StepId done) { slot(piece).free.push_back(done); }
    /* When this rank's part of a rank's piece has left. */
    model::StepId sent(int piece, int rank) const;

  private:
    /* Memory for a piece from each rank. */
    struct Slot {
        model::Slice own;
        std::vector<model::Slice> parts;
        std::vector<model::StepId> here;
        std::vector<model::StepId> free;
    };
    Slot& slot(int piece) { return slots_[static_cast<std::size_t>(piece) % slots_.size()]; }

    model::Builder& steps_;
    const CallShape& shape_;
    const Bounds& bounds_;
    std::int64_t piece_;
    int pieces_ = 0;
    std::array<Slot, 2> slots_;
    std::vector<std::vector<model::StepId>> sent_; /* by piece and rank */
};

/* Units of a piece where the shape leaves the choice. */
std::int64_t direct_piece(const CallShape& shape, const Bounds& bounds);

/* The scratch memory in which a vector is reduced in such pieces. */
std::int64_t direct_scratch_units_max(const CallShape& shape);

}  // namespace lanewise::collectives
