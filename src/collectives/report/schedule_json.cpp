// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/report/schedule_json.hpp"

#include <array>

namespace lanewise::report {
namespace {

using model::StepKind;

Json restrictions_of(const collectives::Restrictions& needs) {
    Json named = Json::array();
    const auto name = [&](bool wanted, const char *text) {
        if (wanted) named.push_back(text);
    };
    name(needs.commutative, "commutative");
    name(needs.power_of_two, "power_of_two");
    name(needs.even_ranks, "even_ranks");
    name(needs.all_counts, "all_counts");
    name(needs.platform, "platform");
    name(needs.segmented, "segmented");
    name(needs.lanes, "lanes");
    name(needs.hosts, "hosts");
    name(needs.sites, "sites");
    return named;
}

Json as_json(const model::Slice& slice) {
    static constexpr std::array names = {"send", "receive", "scratch"};
    return {{"place", names[static_cast<std::size_t>(slice.place)]}, {"offset", slice.offset}};
}

Json as_json(const model::Schedule& schedule, const model::Step& step) {
    static constexpr std::array names = {"send", "receive", "copy", "reduce"};
    Json steps = {{"kind", names[static_cast<std::size_t>(step.kind)]}};
    if (step.peer >= 0) steps["peer"] = step.peer;
    if (step.kind != StepKind::receive && step.count > 0) steps["from"] = as_json(step.from);
    if (step.kind != StepKind::send && step.count > 0) steps["to"] = as_json(step.to);
    steps["bytes"] = step.count;
    steps["after"] = schedule.after_of(step);
    return steps;
}

}  // namespace

Json algorithms_json() {
    Json all = Json::array();
    for (const auto *algorithm : collectives::algorithms()) {
        all.push_back({{"collective", name_of(algorithm->collective)},
                       {"name", algorithm->name},
                       {"source", algorithm->source},
                       {"cost", algorithm->cost},
                       {"restrictions", restrictions_of(algorithm->needs)}});
    }
    return all;
}

Json as_json(std::span<const model::Schedule> schedules) {
    Json all = Json::array();
    for (const auto& schedule : schedules) {
        Json steps = Json::array();
        for (const auto& step : schedule.steps) steps.push_back(as_json(schedule, step));
        all.push_back({{"rank", all.size()},
                       {"scratch_bytes", schedule.scratch_units},
                       {"steps", std::move(steps)}});
    }
    return all;
}

}  // namespace lanewise::report
