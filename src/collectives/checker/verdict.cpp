// SPDX-License-Identifier: BSD-3-Clause
//
// Verdict: what a simulation that has come to rest left undone or did wrong.

#include <fmt/format.h>

#include <numeric>

#include "collectives/bracketing.hpp"
#include "collectives/checker/order.hpp"
#include "collectives/checker/simulation.hpp"

namespace lanewise::collectives {
// A rank that stands still waits for one that does too, round a ring, or for one that has ended.
std::string Simulation::unfinished() const {
    for (int rank = 0; rank < trial_->ranks; ++rank) {
        const auto& waits_for = ranks_[index(rank)].waits_for;
        if (waits_for == none) continue;
        const int peer = step(rank, waits_for).peer;
        if (ranks_[index(peer)].waits_for == none) {
            return fmt::format("{}, which rank {} never meets", waiting(rank), peer);
        }
        return fmt::format("deadlock: {}, {}", waiting(rank), waiting(peer));
    }
    return {};
}

std::string Simulation::waiting(int rank) const {
    return fmt::format("rank {} waits for {}", rank,
                       described(schedules_[index(rank)], ranks_[index(rank)].waits_for));
}

std::string Simulation::undelivered() const {
    const auto n = index(trial_->ranks);
    for (std::size_t at = 0; at < channels_.size(); ++at) {
        const auto& channel = channels_[at];
        if (channel.head == none) continue;
        const auto rank = channel.of_sends ? at / n : at % n;
        return fmt::format("rank {}: {} is never met", rank,
                           described(schedules_[rank], channel.head - ranks_[rank].first));
    }
    return {};
}

std::string Simulation::wrong_result() {
    if (trial_->collective == Collective::barrier) return unsynchronised();
    results_.clear();
    for (int rank = 0; rank < trial_->ranks; ++rank) {
        for (const auto& expected : buffers_[index(rank)].expected) {
            auto wrong = wrong_part(rank, expected);
            if (!wrong.empty()) return fmt::format("rank {}: {}", rank, wrong);
        }
        auto wrong = stray_write(rank);
        if (!wrong.empty()) return fmt::format("rank {}: {}", rank, wrong);
    }
    return {};
}

std::string Simulation::wrong_part(int rank, const Expected& expected) {
    const auto& want = expected.run;
    const auto& extent = buffers_[index(rank)].of(model::Place::receive);
    const auto& memory = ranks_[index(rank)].memory[extent.memory];
    moved_.clear();
    if (!memory.read(extent.base + want.begin, want.end - want.begin, moved_)) {
        return fmt::format("units {} to {} of the receive buffer are not all filled", want.begin,
                           want.end);
    }
    for (const auto& run : moved_) {
        const bool in_place = run.index == want.index + run.begin;
        const bool reduced = expected.reduced_ranks > 0;
        if (!in_place || (!reduced && run.term != want.term)) {
            return fmt::format(
                "unit {} of the receive buffer is unit {} of rank {}, not unit {} of rank {}",
                want.begin + run.begin, run.index, run.term, want.index + run.begin, want.term);
        }
        if (!reduced) continue;
        auto wrong = wrong_reduction(rank, run, expected.reduced_ranks);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// Each of the ranks must be in the result, and all ranks of an allreduce must have computed it
// alike, so that they agree to the last bit.
std::string Simulation::wrong_reduction(int rank, const Run& run, int ranks) {
    if (!terms_.complete(run.term, ranks)) {
        return fmt::format("element {} of the result is not from each rank once", run.index);
    }
    auto wrong = wrong_bracketing(run, ranks);
    if (!wrong.empty()) return wrong;
    if (trial_->collective != Collective::allreduce) return {};
    if (rank == 0) {
        results_.write({run.index, run.index + (run.end - run.begin), run.term, run.index});
        return {};
    }
    others_.clear();
    results_.read(run.index, run.end - run.begin, others_);
    for (const auto& first : others_) {
        if (first.term == run.term) continue;
        return fmt::format("element {} of the result is bracketed otherwise than on rank 0",
                           first.index);
    }
    return {};
}

std::string Simulation::wrong_bracketing(const Run& run, int ranks) {
    const char *wanted = "";
    if (trial_->bracketing == Bracketing::from_the_right && run.term != from_the_right(ranks)) {
        wanted = "right";
    }
    if (trial_->bracketing == Bracketing::from_the_left && run.term != from_the_left(ranks)) {
        wanted = "left";
    }
    if (trial_->bracketing == Bracketing::balanced && run.term != balanced(ranks)) {
        return fmt::format("element {} of the result is not in the balanced bracketing", run.index);
    }
    if (!*wanted) return {};
    return fmt::format("element {} of the result is not bracketed from the {}", run.index, wanted);
}

Term Simulation::from_the_right(int ranks) {
    Term folded = ranks - 1;
    for (int rank = ranks - 2; rank >= 0; --rank) folded = terms_.combine(rank, folded);
    return folded;
}

Term Simulation::from_the_left(int ranks) {
    Term folded = 0;
    for (int rank = 1; rank < ranks; ++rank) folded = terms_.combine(folded, rank);
    return folded;
}

Term Simulation::balanced(int ranks) {
    std::vector<Term> contributions(index(ranks));
    std::iota(contributions.begin(), contributions.end(), Term{0});
    return fold_balanced(std::move(contributions),
                         [&](Term left, Term right) { return terms_.combine(left, right); });
}

// Between the blocks of the receive buffer nothing may be written, and `send` is as it was.
std::string Simulation::stray_write(int rank) const {
    const auto& buffers = buffers_[index(rank)];
    const auto& receive = buffers.of(model::Place::receive);
    const auto& send = buffers.of(model::Place::send);
    if (receive.memory == send.memory) return {};
    std::int64_t wanted = 0;
    std::int64_t found = 0;
    for (const auto& expected : buffers.expected) wanted += expected.run.end - expected.run.begin;
    for (const auto& run : ranks_[index(rank)].memory[receive.memory].runs()) {
        found += run.end - run.begin;
    }
    return found == wanted ? std::string() : "the receive buffer is written beside its blocks";
}

std::string Simulation::unsynchronised() {
    for (int rank = 0; rank < trial_->ranks; ++rank) {
        const auto& steps = schedules_[index(rank)].steps;
        auto& known = known_[index(rank)];
        for (std::uint32_t id = 0; id < steps.size(); ++id) {
            if (steps[id].kind != model::StepKind::receive) continue;
            const auto& signalled = signalled_[global(rank, id)];
            for (std::size_t r = 0; r < signalled.size(); ++r) known[r] = known[r] | signalled[r];
        }
        for (int other = 0; other < trial_->ranks; ++other) {
            if (known[index(other)] != 0) continue;
            return fmt::format("rank {} may leave before rank {} has entered", rank, other);
        }
    }
    return {};
}

}  // namespace lanewise::collectives
