// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/fused_steps.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Schedule;
using model::Slice;
using model::Step;
using model::StepKind;

struct Region {
    Slice at;
    std::int64_t count = 0;

    std::int64_t end() const { return at.offset + count; }
    bool overlaps(const Region& other) const {
        return at.place == other.at.place && at.offset < other.end() && other.at.offset < end();
    }
    bool holds(const Region& other) const {
        return at.place == other.at.place && at.offset <= other.at.offset && other.end() <= end();
    }
};

bool reads(const Step& step, const Region& region) {
    if (step.kind == StepKind::receive) return false;
    if (region.overlaps({step.from, step.count})) return true;
    return step.kind == StepKind::reduce && region.overlaps({step.to, step.count});
}

bool overwrites(const Step& step, const Region& region) {
    const bool writes = step.kind == StepKind::receive || step.kind == StepKind::copy;
    return writes && Region{step.to, step.count}.holds(region);
}

/* Whether no step from `i` on needs what the region holds. */
bool is_dead(const Schedule& schedule, std::size_t i, const Region& region) {
    for (; i < schedule.steps.size(); ++i) {
        const auto& step = schedule.steps[i];
        if (reads(step, region)) return false;
        if (overwrites(step, region)) return true;
    }
    return true;
}

}  // namespace

std::optional<FusedSteps> fused_with_next(const Schedule& schedule, std::size_t i) {
    if (i + 1 >= schedule.steps.size()) return std::nullopt;
    const auto& one = schedule.steps[i];
    const auto& next = schedule.steps[i + 1];
    if (one.count != next.count) return std::nullopt;
    if (one.kind == StepKind::copy && next.kind == StepKind::reduce && one.to == next.to) {
        return FusedSteps{.left = next.from, .right = one.from, .result = one.to};
    }
    const bool copied = one.kind == StepKind::reduce && next.kind == StepKind::copy &&
                        one.to == next.from && one.to.place == Place::scratch;
    if (!copied || !is_dead(schedule, i + 2, {one.to, one.count})) return std::nullopt;
    return FusedSteps{.left = one.from, .right = one.to, .result = next.to};
}

}  // namespace lanewise::collectives
