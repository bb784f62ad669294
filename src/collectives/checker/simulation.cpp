// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/checker/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collectives/checker/order.hpp"

namespace lanewise::collectives {
namespace {

using model::Slice;
using model::Step;
using model::StepKind;

}  // namespace

std::string Simulation::fault(const Trial& trial, std::span<const model::Schedule> schedules,
                              std::span<const Buffers> buffers, Sends sends) {
    trial_ = &trial;
    schedules_ = schedules;
    buffers_ = buffers;
    sends_ = sends;
    begin();
    while (!runnable_.empty() && fault_.empty()) {
        const int rank = runnable_.back();
        runnable_.pop_back();
        run(rank);
    }
    if (fault_.empty()) fault_ = unfinished();
    if (fault_.empty()) fault_ = undelivered();
    if (fault_.empty()) fault_ = wrong_result();
    return fault_;
}

void Simulation::begin() {
    fault_.clear();
    terms_.reset(trial_->ranks);
    const auto n = index(trial_->ranks);
    ranks_.resize(n);
    channels_.assign(n * n, {});
    runnable_.clear();
    std::uint32_t steps = 0;
    for (std::size_t r = 0; r < n; ++r) {
        auto& rank = ranks_[r];
        rank.first = steps;
        rank.next = 0;
        rank.waits_for = none;
        steps += static_cast<std::uint32_t>(schedules_[r].steps.size());
        for (auto& memory : rank.memory) memory.clear();
        write(static_cast<int>(r), {model::Place::send, 0}, buffers_[r].send);
        write(static_cast<int>(r), {model::Place::receive, 0}, buffers_[r].receive);
        runnable_.push_back(static_cast<int>(r));
    }
    done_.assign(steps, 0);
    behind_.assign(steps, none);
    if (sends_ == Sends::eager) copies_.resize(std::max<std::size_t>(copies_.size(), steps));
    if (trial_->collective != Collective::barrier) return;
    signalled_.assign(steps, {});
    known_.assign(n, std::vector<char>(n, 0));
    for (std::size_t r = 0; r < n; ++r) known_[r][r] = 1;
}

void Simulation::run(int rank) {
    auto& mine = ranks_[index(rank)];
    const auto& steps = schedules_[index(rank)].steps;
    while (mine.next < steps.size() && fault_.empty()) {
        if (!ready(rank, steps[mine.next])) return;
        start(rank, mine.next++);
    }
}

bool Simulation::ready(int rank, const Step& step) {
    auto& mine = ranks_[index(rank)];
    for (const auto earlier : schedules_[index(rank)].after_of(step)) {
        if (done_[mine.first + earlier] != 0) continue;
        mine.waits_for = earlier;
        return false;
    }
    mine.waits_for = none;
    return true;
}

void Simulation::start(int rank, std::uint32_t id) {
    const auto& begun = step(rank, id);
    if (trial_->collective == Collective::barrier) learn(rank, begun);
    switch (begun.kind) {
        case StepKind::copy:
            if (!stays(begun, buffers_[index(rank)])) move(rank, id);
            break;
        case StepKind::reduce: reduce(rank, id); break;
        case StepKind::send:
            if (trial_->collective == Collective::barrier) {
                signalled_[global(rank, id)] = known_[index(rank)];
            }
            if (sends_ == Sends::eager) {
                load(rank, id, begun.from, begun.count, copies_[global(rank, id)]);
                complete(rank, id);
            }
            meet(rank, id);
            return;
        case StepKind::receive: meet(rank, id); return;
    }
    complete(rank, id);
}

// Adds the ranks that this one knows to have entered a barrier, by the signals it has waited for.
void Simulation::learn(int rank, const Step& begun) {
    auto& known = known_[index(rank)];
    for (const auto earlier : schedules_[index(rank)].after_of(begun)) {
        if (step(rank, earlier).kind != StepKind::receive) continue;
        const auto& signalled = signalled_[global(rank, earlier)];
        for (std::size_t r = 0; r < signalled.size(); ++r) known[r] = known[r] | signalled[r];
    }
}

// The n-th send between two ranks meets the n-th receive.
void Simulation::meet(int rank, std::uint32_t id) {
    const auto& mine = step(rank, id);
    const bool sends = mine.kind == StepKind::send;
    const auto n = index(trial_->ranks);
    auto& channel = sends ? channels_[index(rank) * n + index(mine.peer)]
                          : channels_[index(mine.peer) * n + index(rank)];
    if (channel.head == none || channel.of_sends == sends) {
        channel.of_sends = sends;
        (channel.head == none ? channel.head : behind_[channel.tail]) = global(rank, id);
        channel.tail = global(rank, id);
        return;
    }
    const auto other = channel.head;
    channel.head = behind_[other];
    const Message peer{mine.peer, other - ranks_[index(mine.peer)].first};
    const Message here{rank, id};
    deliver(sends ? here : peer, sends ? peer : here);
}

void Simulation::deliver(const Message& sent, const Message& received) {
    const auto& out = step(sent.rank, sent.step);
    const auto& in = step(received.rank, received.step);
    if (out.count != in.count) {
        fault_ = fmt::format("rank {}: {} meets rank {}: {}", sent.rank,
                             described(schedules_[index(sent.rank)], sent.step), received.rank,
                             described(schedules_[index(received.rank)], received.step));
        return;
    }
    const bool taken_along = sends_ == Sends::eager;
    if (!taken_along && !load(sent.rank, sent.step, out.from, out.count, moved_)) return;
    write(received.rank, in.to, taken_along ? copies_[global(sent.rank, sent.step)] : moved_);
    if (trial_->collective == Collective::barrier) {
        signalled_[global(received.rank, received.step)] = signalled_[global(sent.rank, sent.step)];
    }
    complete(received.rank, received.step);
    if (sends_ == Sends::rendezvous) complete(sent.rank, sent.step);
}

void Simulation::complete(int rank, std::uint32_t id) {
    done_[global(rank, id)] = 1;
    if (ranks_[index(rank)].waits_for == id) runnable_.push_back(rank);
}

// The runs at `from`, counted from there.
bool Simulation::load(int rank, std::uint32_t id, Slice from, std::int64_t count,
                      std::vector<Run>& into) {
    into.clear();
    if (count == 0) return true;
    const auto& extent = buffers_[index(rank)].of(from.place);
    const auto& memory = ranks_[index(rank)].memory[extent.memory];
    if (memory.read(extent.base + from.offset, count, into)) return true;
    fault_ = fmt::format("rank {}: {} reads what was never written", rank,
                         described(schedules_[index(rank)], id));
    return false;
}

void Simulation::write(int rank, Slice to, const std::vector<Run>& runs) {
    const auto& extent = buffers_[index(rank)].of(to.place);
    auto& memory = ranks_[index(rank)].memory[extent.memory];
    const auto base = extent.base + to.offset;
    for (const auto& run : runs) {
        memory.write({run.begin + base, run.end + base, run.term, run.index});
    }
}

void Simulation::move(int rank, std::uint32_t id) {
    const auto& copy = step(rank, id);
    if (load(rank, id, copy.from, copy.count, moved_)) write(rank, copy.to, moved_);
}

void Simulation::reduce(int rank, std::uint32_t id) {
    const auto& reduction = step(rank, id);
    if (!load(rank, id, reduction.from, reduction.count, moved_)) return;
    if (!load(rank, id, reduction.to, reduction.count, others_)) return;
    reduced_.clear();
    auto left = moved_.begin();
    auto right = others_.begin();
    for (std::int64_t at = 0; at < reduction.count;) {
        const auto end = std::min(left->end, right->end);
        const auto index_here = left->index + at - left->begin;
        const auto wrong = mismatch(*left, *right, at);
        if (!wrong.empty()) {
            fault_ =
                fmt::format("rank {}: {} {}", rank, described(schedules_[index(rank)], id), wrong);
            return;
        }
        const auto term = trial_->in_order ? terms_.combine(left->term, right->term)
                                           : terms_.combine_commuting(left->term, right->term);
        reduced_.push_back({at, end, term, index_here});
        at = end;
        if (left->end == at) ++left;
        if (right->end == at) ++right;
    }
    write(rank, reduction.to, reduced_);
}

std::string Simulation::mismatch(const Run& left, const Run& right, std::int64_t at) const {
    if (left.index + at - left.begin != right.index + at - right.begin) {
        return "combines different elements";
    }
    if (trial_->in_order && !terms_.adjoin(left.term, right.term)) {
        return "combines contributions out of order";
    }
    return {};
}

}  // namespace lanewise::collectives
