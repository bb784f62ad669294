// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/checker/order.hpp"

#include <fmt/format.h>

namespace lanewise::collectives {

using model::Place;
using model::StepKind;

std::string described(const model::Schedule& schedule, std::uint32_t id) {
    const auto& step = schedule.steps[id];
    const char *const kinds[] = {"send", "receive", "copy", "reduction"};
    const char *const ways[] = {" to rank ", " from rank ", "", ""};
    const auto kind = static_cast<std::size_t>(step.kind);
    const bool message = step.kind == StepKind::send || step.kind == StepKind::receive;
    return fmt::format("step {} (a {} of {} units{}{})", id, kinds[kind], step.count, ways[kind],
                       message ? fmt::format("{}", step.peer) : "");
}

bool stays(const model::Step& step, const Buffers& buffers) {
    const auto& from = buffers.of(step.from.place);
    const auto& to = buffers.of(step.to.place);
    return step.kind == StepKind::copy && from.memory == to.memory &&
           from.base + step.from.offset == to.base + step.to.offset;
}

std::string OrderCheck::fault(const model::Schedule& schedule, const Buffers& buffers, int rank,
                              int ranks) {
    buffers_ = &buffers;
    rank_ = rank;
    ranks_ = ranks;
    waited_for_.assign(schedule.steps.size(), 0);
    reads_.clear();
    writes_.clear();
    for (std::uint32_t id = 0; id < schedule.steps.size(); ++id) {
        const auto wrong = step_fault(schedule, id);
        if (!wrong.empty()) return described(schedule, id) + " " + wrong;
    }
    return {};
}

std::string OrderCheck::step_fault(const model::Schedule& schedule, std::uint32_t id) {
    const auto& step = schedule.steps[id];
    if (step.count < 0) return "has a negative count";
    for (const auto earlier : schedule.after_of(step)) {
        if (earlier >= id) return fmt::format("waits for step {}, which is not earlier", earlier);
        waited_for_[earlier] = 1;
    }
    const bool message = step.kind == StepKind::send || step.kind == StepKind::receive;
    if (message && (step.peer < 0 || step.peer >= ranks_ || step.peer == rank_)) {
        return "has no such peer";
    }
    if (step.count == 0 || stays(step, *buffers_)) return {};
    if (step.kind != StepKind::receive) {
        auto wrong = access_fault(id, step.from, step.count, false);
        if (!wrong.empty()) return wrong;
    }
    if (step.kind == StepKind::send) return {};
    if (step.to.place == Place::send) return "writes to the send buffer";
    return access_fault(id, step.to, step.count, true);
}

std::string OrderCheck::access_fault(std::uint32_t id, model::Slice slice, std::int64_t count,
                                     bool write) {
    const auto& extent = buffers_->of(slice.place);
    if (slice.offset < 0 || slice.offset + count > extent.units) {
        const char *const places[] = {"send buffer", "receive buffer", "scratch memory"};
        return fmt::format("reaches out of the {} of {} units: offset {}",
                           places[static_cast<std::size_t>(slice.place)], extent.units,
                           slice.offset);
    }
    const auto begin = extent.base + slice.offset;
    const Access access{id, extent.memory, begin, begin + count};
    auto wrong = race(writes_, access);
    if (wrong.empty() && write) wrong = race(reads_, access);
    (write ? writes_ : reads_).push_back(access);
    return wrong;
}

std::string OrderCheck::race(std::vector<Access>& under_way, const Access& access) const {
    for (std::size_t i = 0; i < under_way.size();) {
        const auto& other = under_way[i];
        if (waited_for_[other.step] != 0) {
            under_way[i] = under_way.back();
            under_way.pop_back();
            continue;
        }
        // A reduction reads what it writes; its two operands must not be the same units.
        if (other.memory == access.memory && other.begin < access.end && access.begin < other.end) {
            return other.step == access.step
                       ? std::string("overlaps itself")
                       : fmt::format("races with step {}, which may still be under way",
                                     other.step);
        }
        ++i;
    }
    return {};
}

}  // namespace lanewise::collectives
