// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks: how a buffer is cut: a row of consecutive blocks, the stretches in which the blocks of a
// tree lie in the caller's buffer, and the pieces in which a long message travels.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/call_shape.hpp"
#include "collectives/rank_order.hpp"
#include "model/schedule/schedule.hpp"

namespace lanewise::collectives {

/* Where blocks that follow one another begin: block i is [bounds[i], bounds[i + 1]). */
class Bounds {
  public:
    /* `count` units in `parts` blocks, the first ones larger by one where it does not divide. */
    Bounds(std::int64_t count, int parts) : least_(count / parts), larger_(count % parts) {}
    /* The blocks of the shape in a rank order. */
    Bounds(const CallShape& shape, const RankOrder& order);

    std::int64_t operator[](int i) const {
        if (!begins_.empty()) return begins_[static_cast<std::size_t>(i)];
        return least_ * i + std::min<std::int64_t>(i, larger_);
    }
    std::int64_t size(int begin, int end) const { return (*this)[end] - (*this)[begin]; }
    std::int64_t size(int i) const { return size(i, i + 1); }

  private:
    std::int64_t least_ = 0;
    std::int64_t larger_ = 0;
    std::vector<std::int64_t> begins_;
};

/* The units of the largest of the blocks of all ranks. */
std::int64_t largest_block(const CallShape& shape, const Bounds& bounds);

/* Units that lie together in the caller's buffer, and where they stand in the row. */
struct Stretch {
    std::int64_t in_row = 0;
    std::int64_t in_buffer = 0;
    std::int64_t count = 0;
};

/* Nodes [begin, end) of a rank order, with `in_row` counted from node `begin`. */
std::vector<Stretch> stretches_of(const CallShape& shape, const RankOrder& order, int begin,
                                  int end);

/* Blocks as one slice. */
struct PackedBlocks {
    model::Slice at;
    model::StepId ready = model::no_step;
};

/* The stretches of `blocks`, complete after `ready`: where they lie, or as a copy in scratch where
   they do not lie together. */
PackedBlocks packed_blocks(model::Builder& steps, const std::vector<Stretch>& stretches,
                           model::Slice blocks, model::StepId ready);

/*
 * A row of all blocks in a rank order: the caller's receive buffer
 * where they stand there in that order, else scratch.
 */
struct Row {
    Row(model::Builder& steps, const CallShape& shape, const RankOrder& order);

    /* Where block i begins. */
    model::Slice at(int i) const { return begin.at(bounds[i]); }
    /* Copies the row to where the caller wants its blocks, once `arrived` are complete. */
    void deliver(model::Builder& steps, std::span<const model::StepId> arrived) const;

    Bounds bounds;
    std::vector<Stretch> stretches;
    model::Slice begin;
};

/* A message cut into pieces of at most `piece` units. */
struct Pieces {
    std::int64_t count = 0;
    std::int64_t piece = 1;

    /* Not rounded up by adding first: a piece may have nearly all that can be counted. */
    int number() const { return count <= 0 ? 0 : static_cast<int>(1 + (count - 1) / piece); }
    std::int64_t begin(int i) const { return piece * i; }
    std::int64_t size(int i) const { return std::min(piece, count - begin(i)); }
};

/*
 * `count` units in segments of the shape's, or of `own_bytes` where it leaves the choice. Segments
 * that would be more than a schedule should hold are made larger.
 */
Pieces segments_of(const CallShape& shape, std::int64_t count, std::int64_t own_bytes);

/* In one piece. */
inline Pieces whole(std::int64_t count) {
    return {count, std::max<std::int64_t>(count, 1)};
}

}  // namespace lanewise::collectives
