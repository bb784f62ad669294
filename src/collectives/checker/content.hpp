// SPDX-License-Identifier: BSD-3-Clause
//
// Content: what simulated memory holds, as runs of symbols, so that a block costs the same whatever
// its length.

#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lanewise::collectives {

/* What a unit is made of: below the number of ranks, the rank that gave it; else an expression. */
using Term = std::int32_t;

/* Units [begin, end) are those from `index` on of the vectors that `term` names. */
struct Run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Term term = 0;
    std::int64_t index = 0;

    bool operator==(const Run&) const = default;
};

/* The memory of one buffer; what no run covers was never written. */
class Content {
  public:
    void clear() { runs_.clear(); }
    void write(Run run);
    /* Appends the runs within [begin, begin + count), counted from `begin`; false on a gap. */
    bool read(std::int64_t begin, std::int64_t count, std::vector<Run>& into) const;
    const std::vector<Run>& runs() const { return runs_; }

  private:
    std::vector<Run> runs_; /* ascending, apart, joined where they continue one another */
};

/* Expressions over the contributions of ranks; the same expression has the same name. */
class Terms {
  public:
    void reset(int ranks);
    /* `left` op `right`. */
    Term combine(Term left, Term right);
    /* The same whichever is left. */
    Term combine_commuting(Term left, Term right);
    /* Whether ranks stand in `left` up to where those of `right` begin. */
    bool adjoin(Term left, Term right) const;
    /* Whether each of the first `ranks` ranks is in the expression once, and nothing else. */
    bool complete(Term term, int ranks) const;

  private:
    struct Extent {
        int first = 0;
        int last = 0;
        int ranks = 0;
        std::uint64_t fingerprint = 0; /* sum of a random number a rank */
    };
    const Extent& extent(Term term) const { return extents_[static_cast<std::size_t>(term)]; }
    Term named(Term left, Term right);

    int ranks_ = 0;
    std::vector<std::uint64_t> fingerprints_; /* of the first 0, 1, 2, ... ranks */
    std::vector<Extent> extents_;
    std::unordered_map<std::uint64_t, Term> names_;
};

}  // namespace lanewise::collectives
