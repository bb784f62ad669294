// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/report/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "collectives/checker/checker.hpp"
#include "collectives/knomial.hpp"
#include "collectives/predict.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::report {
namespace {

using model::StepKind;

constexpr int ranks_max = 1024;

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
    name(needs.single_edges, "single_edges");
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

/* [{rank, scratch_bytes, steps: [{kind, peer, from, to, bytes, after}, ...]}, ...] */
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

Result<const collectives::Algorithm *> algorithm_of(const ScheduleRequest& arguments) {
    const auto collective = collectives::collective_named(arguments.collective);
    if (!collective) return bad_argument(fmt::format("no collective \"{}\"", arguments.collective));
    const auto *algorithm = collectives::find_algorithm(*collective, arguments.algorithm);
    if (algorithm == nullptr) {
        const auto radixes = fmt::format("the number after the colon is {} to {}",
                                         collectives::radix_min, collectives::radix_max);
        const bool is_tree = arguments.algorithm.starts_with(collectives::knomial_prefix);
        return bad_argument(fmt::format("{} has no algorithm \"{}\"; {}", arguments.collective,
                                        arguments.algorithm,
                                        is_tree ? radixes : "--list names them"));
    }
    const collectives::CallTraits call{.ranks = arguments.ranks,
                                       .platform = !arguments.platform.empty(),
                                       .hosts = true,
                                       .sites = true};
    const auto reason = refusal(*algorithm, call);
    if (reason.empty()) return algorithm;
    const bool remedy = algorithm->needs.platform && arguments.platform.empty();
    return bad_argument(fmt::format("{} {} cannot serve {} ranks: {}{}", arguments.collective,
                                    arguments.algorithm, arguments.ranks, reason,
                                    remedy ? "; give --platform FILE" : ""));
}

Outcome can_be_shown(const collectives::Algorithm& algorithm, const ScheduleRequest& arguments) {
    return collectives::can_be_built(algorithm, {.collective = algorithm.collective,
                                                 .ranks = arguments.ranks,
                                                 .root = arguments.root,
                                                 .message_bytes = arguments.message_bytes,
                                                 .segment_bytes = arguments.segment_bytes,
                                                 .lanes = arguments.lanes});
}

/* Of every rank; fails where these are more steps than can be looked at. */
Result<std::vector<model::Schedule>> bounded_schedules(const collectives::Algorithm& algorithm,
                                                       const collectives::Trial& trial) {
    std::vector<model::Schedule> all;
    auto left = collectives::steps_max;
    const auto build = [&](const collectives::CallShape& shape) {
        const model::StepLimit limit(left);
        all.push_back(algorithm.build(shape));
        left -= all.back().steps.size();
    };
    try {
        for (int rank = 0; rank < trial.ranks; ++rank) collectives::with_shape(trial, rank, build);
    } catch (const model::TooManySteps&) {
        return Failure{LW_ERR_LIMIT,
                       fmt::format("the schedules have more than {} million steps; ask for fewer "
                                   "ranks, a smaller size or larger segments",
                                   collectives::steps_max / 1'000'000)};
    }
    return all;
}

Result<model::Network> network_of(const ScheduleRequest& arguments) {
    if (arguments.platform.empty()) return model::Network{};
    const auto platform = model::read_platform(arguments.platform);
    if (!platform) return platform.failure();
    return model::network(*platform, platform->best, arguments.ranks);
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

Result<Json> schedules(const ScheduleRequest& arguments) {
    if (arguments.ranks < 1 || arguments.root < 0 || arguments.root >= arguments.ranks) {
        return bad_argument(fmt::format("root {} of {} ranks is not there; ranks count from 0",
                                        arguments.root, arguments.ranks));
    }
    if (arguments.ranks > ranks_max) {
        return bad_argument(fmt::format("{} ranks are more than can be looked at; at most {}",
                                        arguments.ranks, ranks_max));
    }
    if (arguments.sites < 1 || arguments.lanes < 1)
        return bad_argument("sites and lanes count from 1");
    const auto algorithm = algorithm_of(arguments);
    if (!algorithm) return algorithm.failure();
    const auto possible = can_be_shown(**algorithm, arguments);
    if (!possible) return possible.failure();
    const auto network = network_of(arguments);
    if (!network) return network.failure();
    auto call = collectives::even_trial((*algorithm)->collective, arguments.ranks, arguments.root,
                                        static_cast<std::int64_t>(arguments.message_bytes));
    call.segment = static_cast<std::int64_t>(arguments.segment_bytes);
    call.network = &*network;
    call.lanes = arguments.lanes;
    auto& places = (*algorithm)->needs.sites ? call.sites : call.hosts;
    const int sites = std::min(arguments.sites, arguments.ranks);
    for (int rank = 0; rank < arguments.ranks; ++rank) {
        places.push_back(rank * sites / arguments.ranks);
    }
    const auto built = bounded_schedules(**algorithm, call);
    if (!built) return built.failure();
    return Json{{"collective", arguments.collective},
                {"algorithm", arguments.algorithm},
                {"ranks", arguments.ranks},
                {"root", arguments.root},
                {"message_bytes", arguments.message_bytes},
                {"segment_bytes", arguments.segment_bytes},
                {"schedules", as_json(*built)}};
}

}  // namespace lanewise::report
