// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of the models: checks, conversions, and no exception across it.

#include <lanewise/model.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/caught.hpp"
#include "base/host.hpp"
#include "collectives/likely_algorithms.hpp"
#include "collectives/predict.hpp"
#include "model/fit/fit.hpp"
#include "model/platform/platform.hpp"
#include "model/platform/signature.hpp"

struct lw_platform {
    lanewise::model::Platform platform;
    std::vector<std::string> models; /* that may be asked */
};

struct lw_schedule {
    std::vector<lanewise::model::Schedule> ranks;
    lw_report_fn report;
    void *report_context;
};

namespace lanewise::collectives {
namespace {

constexpr lw_model_options default_options = LW_MODEL_OPTIONS;

struct Complaints {
    lw_report_fn report = nullptr;
    void *context = nullptr;

    lw_status about(const Failure& failure) const {
        if (report) report(context, failure.status, failure.sentence.c_str());
        return failure.status;
    }
};

/* Runs `act`, which returns an Outcome, and turns whatever happens into a status. */
template <typename Act>
lw_status at_border(const Complaints& complaints, const Act& act) {
    const Outcome outcome = caught({.no_memory = "out of memory; ask for less"}, act);
    return outcome ? LW_OK : complaints.about(outcome.failure());
}

/* The same with options; `act` gets them with the defaults in the place of NULL. */
template <typename Act>
lw_status with_options(const lw_model_options *given, const Act& act) {
    const auto& options = given ? *given : default_options;
    if (options.struct_size != sizeof options) return LW_ERR_ARGUMENT;
    return at_border({options.report, options.report_context}, [&] { return act(options); });
}

lw_platform *handle_of(model::Platform platform) {
    auto handle = std::make_unique<lw_platform>();
    for (const auto& name : model::model_names()) {
        if (has_model(platform, name)) handle->models.push_back(name);
    }
    if (has_model(platform, "lanes")) handle->models.emplace_back("lanes");
    handle->platform = std::move(platform);
    return handle.release();
}

Result<model::Network> network_of(const lw_platform& platform, const lw_model_options& options,
                                  int ranks) {
    for (const double s_per_byte : {options.copy_s_per_byte, options.reduce_s_per_byte}) {
        if (s_per_byte >= 0.0 && std::isfinite(s_per_byte)) continue;
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), "%g", s_per_byte);
        return bad_argument(std::string("the time per byte of a copy or a reduction is ") +
                            text.data() + "; name 0 or a time above it");
    }
    auto network =
        model::network(platform.platform, options.model ? options.model : std::string(), ranks);
    if (!network) return network.failure();
    network->copy_s_per_byte = options.copy_s_per_byte;
    network->reduce_s_per_byte = options.reduce_s_per_byte;
    return network;
}

Result<const Algorithm *> algorithm_of(const lw_model_call& call) {
    const auto collective = collective_named(call.collective);
    if (!collective) {
        return Failure{LW_ERR_NOT_FOUND, std::string("no collective \"") + call.collective +
                                             "\"; write scatter, allreduce or their like"};
    }
    if (const auto *algorithm = find_algorithm(*collective, call.algorithm)) return algorithm;
    std::string names;
    for (const auto *algorithm : algorithms()) {
        if (algorithm->collective == *collective)
            names += (names.empty() ? "" : ", ") + std::string(algorithm->name);
    }
    return Failure{LW_ERR_NOT_FOUND, std::string(call.collective) + " has no algorithm \"" +
                                         call.algorithm + "\"; use " + names};
}

Outcome predict_call(const lw_platform& platform, const lw_model_call& call,
                     const lw_model_options& options, double& time_s) {
    const auto algorithm = algorithm_of(call);
    if (!algorithm) return algorithm.failure();
    if (call.lanes < 1) return bad_argument("lanes count from 1");
    const int ranks = call.ranks == 0 ? platform.platform.ranks : call.ranks;
    const auto network = network_of(platform, options, ranks);
    if (!network) return network.failure();
    const auto places = places_of(platform.platform, ranks);
    const auto priced = predict(**algorithm,
                                {.collective = (*algorithm)->collective,
                                 .ranks = ranks,
                                 .root = call.root,
                                 .message_bytes = call.message_bytes,
                                 .segment_bytes = call.segment_bytes,
                                 .lanes = call.lanes,
                                 .hosts = places.hosts,
                                 .sites = places.sites},
                                *network);
    if (!priced) return priced.failure();
    time_s = priced->total_s;
    return Done{};
}

model::StepKind kind_of(lw_step_kind kind) {
    switch (kind) {
        case LW_STEP_SEND: return model::StepKind::send;
        case LW_STEP_RECEIVE: return model::StepKind::receive;
        case LW_STEP_COPY: return model::StepKind::copy;
        default: return model::StepKind::reduce;
    }
}

std::string rank_text(int rank) {
    return "rank " + std::to_string(rank);
}

/* What a C program stored in an enumeration, which may be none of its values. */
int number_of(const lw_step_kind& kind) {
    int number = 0;
    static_assert(sizeof number == sizeof kind);
    std::memcpy(&number, &kind, sizeof number);
    return number;
}

Outcome check_step(const lw_schedule& schedule, int rank, const lw_step& step) {
    const auto ranks = static_cast<int>(schedule.ranks.size());
    const auto is_there = [ranks](int which) { return which >= 0 && which < ranks; };
    if (!is_there(rank)) {
        return bad_argument(rank_text(rank) + " is none of the " + std::to_string(ranks) +
                            "; ranks count from 0");
    }
    const int kind = number_of(step.kind);
    if (kind < LW_STEP_SEND || kind > LW_STEP_REDUCE)
        return bad_argument("kind " + std::to_string(kind) + " of a step is unknown");
    const bool message = step.kind == LW_STEP_SEND || step.kind == LW_STEP_RECEIVE;
    if (message && (!is_there(step.peer) || step.peer == rank)) {
        return bad_argument("a message between " + rank_text(rank) + " and " +
                            rank_text(step.peer) + "; the peer is another of the " +
                            std::to_string(ranks) + " ranks");
    }
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (step.bytes > most) {
        return Failure{LW_ERR_LIMIT, std::to_string(step.bytes) +
                                         " bytes in a step are more than can be counted"};
    }
    const auto count = schedule.ranks[static_cast<std::size_t>(rank)].steps.size();
    if (count >= steps_max)
        return Failure{LW_ERR_LIMIT, rank_text(rank) + " has as many steps as can be priced"};
    if (step.after_count > 0 && !step.after)
        return bad_argument("after is NULL, and after_count is not 0");
    for (std::size_t i = 0; i < step.after_count; ++i) {
        if (step.after[i] >= count) {
            return bad_argument("step " + std::to_string(count) + " of " + rank_text(rank) +
                                " waits for step " + std::to_string(step.after[i]) +
                                ", which is not before it");
        }
    }
    return Done{};
}

/* Where memory is short, no step is added; numbers that none refers to may stay behind. */
void append(model::Schedule& schedule, const lw_step& step) {
    const auto begin = schedule.after.size();
    for (std::size_t i = 0; i < step.after_count; ++i)
        schedule.after.push_back(static_cast<std::uint32_t>(step.after[i]));
    schedule.steps.push_back({.kind = kind_of(step.kind),
                              .peer = step.peer,
                              .count = static_cast<std::int64_t>(step.bytes),
                              .after_begin = static_cast<std::uint32_t>(begin),
                              .after_count = static_cast<std::uint32_t>(step.after_count)});
}

}  // namespace
}  // namespace lanewise::collectives

using namespace lanewise;
using namespace lanewise::collectives;

lw_status lw_model_fit(const char *const *sample_files, size_t count,
                       const lw_model_options *options, lw_platform **platform) {
    return with_options(options, [&](const lw_model_options& chosen) -> Outcome {
        if (!sample_files || count == 0 || !platform)
            return bad_argument("no sample files, or no place for the platform");
        if (std::find(sample_files, sample_files + count, nullptr) != sample_files + count)
            return bad_argument("the name of a sample file is NULL");
        if (chosen.redraws > 1'000'000) return bad_argument("more than a million redraws");
        const std::vector<std::string> paths(sample_files, sample_files + count);
        const auto observations = model::read_observations(paths);
        if (!observations) return observations.failure();
        auto fitted = model::fit(*observations, {.redraws = static_cast<int>(chosen.redraws),
                                                 .seed = chosen.seed,
                                                 .algorithms_of = likely_algorithms});
        if (!fitted) return fitted.failure();
        model::sign(fitted->platform, utc_now(), this_host().name, tcp_settings());
        *platform = handle_of(std::move(fitted->platform));
        const Complaints complaints{chosen.report, chosen.report_context};
        for (const auto& sentence : fitted->notes) complaints.about({LW_OK, sentence});
        for (const auto& lack : fitted->lacks) complaints.about({LW_OK, "not fitted: " + lack});
        return Done{};
    });
}

lw_status lw_model_read(const char *file, const lw_model_options *options, lw_platform **platform) {
    return with_options(options, [&](const lw_model_options&) -> Outcome {
        if (!file || !platform) return bad_argument("no file, or no place for the platform");
        auto read = model::read_platform(file);
        if (!read) return read.failure();
        *platform = handle_of(std::move(*read));
        return Done{};
    });
}

lw_status lw_model_write(const lw_platform *platform, const char *file,
                         const lw_model_options *options) {
    return with_options(options, [&](const lw_model_options&) -> Outcome {
        if (!platform || !file) return bad_argument("no platform, or no file to write");
        return model::write_platform(platform->platform, file);
    });
}

void lw_model_free(lw_platform *platform) {
    delete platform;
}

int lw_model_ranks(const lw_platform *platform) {
    return platform ? platform->platform.ranks : 0;
}

size_t lw_model_count(const lw_platform *platform) {
    return platform ? platform->models.size() : 0;
}

lw_status lw_model_describe(const lw_platform *platform, size_t index,
                            lw_model_description *description) {
    if (!platform || !description || description->struct_size != sizeof *description)
        return LW_ERR_ARGUMENT;
    if (index >= platform->models.size()) return LW_ERR_NOT_FOUND;
    const auto& name = platform->models[index];
    lw_model_description found{sizeof found, name.c_str(), name == platform->platform.best, 0, 0.0};
    const auto quality = platform->platform.fit_quality.find(name);
    if (quality != platform->platform.fit_quality.end()) {
        found.held_out_points = quality->second.held_out_points;
        found.held_out_error = quality->second.held_out_rms;
    }
    *description = found;
    return LW_OK;
}

lw_status lw_model_predict(const lw_platform *platform, const lw_model_call *call,
                           const lw_model_options *options, double *time_s) {
    return with_options(options, [&](const lw_model_options& chosen) -> Outcome {
        if (!platform || !call || !time_s)
            return bad_argument("no platform, no call, or no place for the time");
        if (call->struct_size != sizeof *call)
            return bad_argument("a call of another size; use LW_MODEL_CALL");
        if (!call->collective || !call->algorithm)
            return bad_argument("the call names no collective or no algorithm");
        return predict_call(*platform, *call, chosen, *time_s);
    });
}

lw_status lw_schedule_create(int ranks, lw_report_fn report, void *report_context,
                             lw_schedule **schedule) {
    return at_border({report, report_context}, [&]() -> Outcome {
        if (ranks < 1 || !schedule)
            return bad_argument("a schedule of " + std::to_string(ranks) +
                                " ranks, which is at least 1, or no place for it");
        if (static_cast<std::uint64_t>(ranks) > steps_max) {
            return Failure{LW_ERR_LIMIT, std::to_string(ranks) + " ranks are more than " +
                                             std::to_string(steps_max) +
                                             ", which can be priced; ask for fewer"};
        }
        std::vector<model::Schedule> empty(static_cast<std::size_t>(ranks));
        *schedule = new lw_schedule{std::move(empty), report, report_context};
        return Done{};
    });
}

lw_status lw_schedule_add(lw_schedule *schedule, int rank, const lw_step *step, size_t *index) {
    if (!schedule) return LW_ERR_ARGUMENT;
    return at_border({schedule->report, schedule->report_context}, [&]() -> Outcome {
        if (!step || step->struct_size != sizeof *step)
            return bad_argument("no step, or one of another size; use LW_STEP");
        const auto checked = check_step(*schedule, rank, *step);
        if (!checked) return checked;
        auto& own = schedule->ranks[static_cast<std::size_t>(rank)];
        append(own, *step);
        if (index) *index = own.steps.size() - 1;
        return Done{};
    });
}

void lw_schedule_free(lw_schedule *schedule) {
    delete schedule;
}

lw_status lw_model_price(const lw_platform *platform, const lw_schedule *schedule,
                         const lw_model_options *options, double *time_s, double *rank_s) {
    return with_options(options, [&](const lw_model_options& chosen) -> Outcome {
        if (!platform || !schedule || !time_s)
            return bad_argument("no platform, no schedule, or no place for the time");
        const auto ranks = static_cast<int>(schedule->ranks.size());
        const auto network = network_of(*platform, chosen, ranks);
        if (!network) return network.failure();
        const auto priced = model::price(
            *network, ranks,
            [&](int rank) { return schedule->ranks[static_cast<std::size_t>(rank)]; }, 1);
        if (!priced.finished) return bad_argument("the schedule cannot finish: " + priced.waiting);
        *time_s = priced.total_s;
        if (rank_s) std::copy(priced.rank_s.begin(), priced.rank_s.end(), rank_s);
        return Done{};
    });
}
