// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/checker/content.hpp"

#include <algorithm>

namespace lanewise::collectives {
namespace {

bool continues(const Run& left, const Run& right) {
    return left.end == right.begin && left.term == right.term &&
           left.index + (left.end - left.begin) == right.index;
}

// Sebastiano Vigna's SplitMix64: a number for each rank that no sum of others is likely to equal.
std::uint64_t number_of(int rank) {
    auto z = (static_cast<std::uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace

void Content::write(Run run) {
    if (run.begin == run.end) return;
    const auto first = std::partition_point(
        runs_.begin(), runs_.end(), [&](const Run& other) { return other.end < run.begin; });
    auto last = first;
    Run kept[3];
    std::size_t number = 0;
    // What stands before, what is written, what stands behind; joined where they continue.
    const auto keep = [&](const Run& part) {
        if (part.begin >= part.end) return;
        if (number > 0 && continues(kept[number - 1], part)) {
            kept[number - 1].end = part.end;
        } else {
            kept[number++] = part;
        }
    };
    Run behind;
    if (first != runs_.end() && first->begin < run.begin) {
        keep({first->begin, std::min(first->end, run.begin), first->term, first->index});
    }
    for (; last != runs_.end() && last->begin <= run.end; ++last) {
        if (last->end <= run.end) continue;
        const auto cut = std::max(run.end - last->begin, std::int64_t{0});
        behind = {last->begin + cut, last->end, last->term, last->index + cut};
    }
    keep(run);
    keep(behind);
    const auto replaced = static_cast<std::size_t>(last - first);
    const auto at = first - runs_.begin();
    if (replaced < number) {
        runs_.insert(first, number - replaced, Run{});
    } else {
        runs_.erase(first, first + static_cast<std::ptrdiff_t>(replaced - number));
    }
    std::copy(kept, kept + number, runs_.begin() + at);
}

bool Content::read(std::int64_t begin, std::int64_t count, std::vector<Run>& into) const {
    const auto end = begin + count;
    auto at = begin;
    auto run = std::partition_point(runs_.begin(), runs_.end(),
                                    [&](const Run& other) { return other.end <= begin; });
    for (; at < end; ++run) {
        if (run == runs_.end() || run->begin > at) return false;
        const auto until = std::min(end, run->end);
        into.push_back({at - begin, until - begin, run->term, run->index + at - run->begin});
        at = until;
    }
    return true;
}

void Terms::reset(int ranks) {
    if (ranks == ranks_) {
        extents_.resize(static_cast<std::size_t>(ranks));
        names_.clear();
        return;
    }
    ranks_ = ranks;
    fingerprints_.assign(1, 0);
    extents_.clear();
    names_.clear();
    for (int rank = 0; rank < ranks; ++rank) {
        extents_.push_back({rank, rank, 1, number_of(rank)});
        fingerprints_.push_back(fingerprints_.back() + number_of(rank));
    }
}

Term Terms::combine(Term left, Term right) {
    return named(left, right);
}

Term Terms::combine_commuting(Term left, Term right) {
    return named(std::min(left, right), std::max(left, right));
}

Term Terms::named(Term left, Term right) {
    const auto key = static_cast<std::uint64_t>(left) << 32U | static_cast<std::uint64_t>(right);
    const auto [entry, is_new] = names_.try_emplace(key, static_cast<Term>(extents_.size()));
    if (is_new) {
        const auto a = extent(left);
        const auto b = extent(right);
        extents_.push_back({a.first, b.last, a.ranks + b.ranks, a.fingerprint + b.fingerprint});
    }
    return entry->second;
}

bool Terms::adjoin(Term left, Term right) const {
    return extent(left).last + 1 == extent(right).first;
}

bool Terms::complete(Term term, int ranks) const {
    return extent(term).ranks == ranks &&
           extent(term).fingerprint == fingerprints_[static_cast<std::size_t>(ranks)];
}

}  // namespace lanewise::collectives
