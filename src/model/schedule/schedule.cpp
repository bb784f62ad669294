// SPDX-License-Identifier: BSD-3-Clause

#include "model/schedule/schedule.hpp"

namespace lanewise::model {
namespace {

constinit thread_local std::size_t steps_most = std::numeric_limits<std::size_t>::max();

constexpr std::span<const StepId> ids(Builder::After after) {
    return {after.begin(), after.size()};
}

}  // namespace

StepLimit::StepLimit(std::size_t most) : before_(std::exchange(steps_most, most)) {}

StepLimit::~StepLimit() {
    steps_most = before_;
}

Builder::Builder() : most_(steps_most) {}

StepId Builder::send(int peer, Slice from, std::int64_t count, After after) {
    return send_after(ids(after), peer, from, count);
}

StepId Builder::receive(int peer, Slice to, std::int64_t count, After after) {
    return receive_after(ids(after), peer, to, count);
}

StepId Builder::copy(Slice from, Slice to, std::int64_t count, After after) {
    return copy_after(ids(after), from, to, count);
}

StepId Builder::reduce(Slice from, Slice to, std::int64_t count, After after) {
    return reduce_after(ids(after), from, to, count);
}

StepId Builder::signal(int peer, After after) {
    return signal_after(ids(after), peer);
}

StepId Builder::await(int peer, After after) {
    return add({.kind = StepKind::receive, .peer = peer}, ids(after));
}

StepId Builder::send_after(std::span<const StepId> after, int peer, Slice from,
                           std::int64_t count) {
    if (count == 0) return no_step;
    return add({.kind = StepKind::send, .peer = peer, .from = from, .count = count}, after);
}

StepId Builder::receive_after(std::span<const StepId> after, int peer, Slice to,
                              std::int64_t count) {
    if (count == 0) return no_step;
    return add({.kind = StepKind::receive, .peer = peer, .to = to, .count = count}, after);
}

StepId Builder::signal_after(std::span<const StepId> after, int peer) {
    return add({.kind = StepKind::send, .peer = peer}, after);
}

StepId Builder::copy_after(std::span<const StepId> after, Slice from, Slice to,
                           std::int64_t count) {
    if (count == 0) return no_step;
    return add({.kind = StepKind::copy, .from = from, .to = to, .count = count}, after);
}

StepId Builder::reduce_after(std::span<const StepId> after, Slice from, Slice to,
                             std::int64_t count) {
    if (count == 0) return no_step;
    return add({.kind = StepKind::reduce, .from = from, .to = to, .count = count}, after);
}

Slice Builder::scratch(std::int64_t units) {
    const Slice slice{Place::scratch, schedule_.scratch_units};
    if (units > 0) schedule_.scratch_begins.push_back(slice.offset);
    schedule_.scratch_units += units;
    return slice;
}

StepId Builder::add(Step step, std::span<const StepId> after) {
    if (schedule_.steps.size() == most_) throw TooManySteps();
    step.after_begin = static_cast<std::uint32_t>(schedule_.after.size());
    for (const StepId id : after) {
        if (id != no_step) schedule_.after.push_back(id);
    }
    step.after_count = static_cast<std::uint32_t>(schedule_.after.size()) - step.after_begin;
    schedule_.steps.push_back(step);
    return static_cast<StepId>(schedule_.steps.size() - 1);
}

}  // namespace lanewise::model
