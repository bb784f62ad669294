// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/report/prediction.hpp"

#include <array>

#include "collectives/predict.hpp"
#include "model/platform/lane_network.hpp"

namespace lanewise::report {
namespace {

using collectives::Question;

/* T(P) for each size; empty where the chosen model does not speak of the call. */
Json cost_model_s(const PredictArguments& arguments, const Candidate& candidate,
                  const model::Platform& platform) {
    const bool rooted = arguments.collective == collectives::Collective::scatter ||
                        arguments.collective == collectives::Collective::gather;
    if (!rooted || !candidate.algorithm->needs.lanes) return {};
    const auto sites = model::two_sites(platform, arguments.root);
    if (!sites || sites->lan_bandwidth_Bps <= 0.0) return {};
    Json times_s = Json::array();
    for (const auto bytes : arguments.sizes_bytes) {
        const auto block_bytes = static_cast<std::int64_t>(bytes);
        times_s.push_back(model::scatter_s(*sites, candidate.lanes, block_bytes));
    }
    return times_s;
}

Question call_of(const PredictArguments& arguments, const Candidate& candidate,
                 std::uint64_t message_bytes, const collectives::Places& places) {
    return {.collective = arguments.collective,
            .ranks = arguments.ranks,
            .root = arguments.root,
            .message_bytes = message_bytes,
            .segment_bytes = candidate.segment_bytes,
            .lanes = candidate.lanes,
            .hosts = places.hosts,
            .sites = places.sites};
}

Json named(const Candidate& candidate) {
    return {{"algorithm", candidate.algorithm->name},
            {"segment_bytes", candidate.segment_bytes},
            {"lanes", candidate.lanes}};
}

Json as_json(const model::Span& span) {
    static constexpr std::array names = {"send", "receive", "copy", "reduce", "egress", "ingress"};
    return {{"what", names[static_cast<std::size_t>(span.what)]},
            {"rank", span.rank},
            {"peer", span.peer},
            {"begin_s", span.begin_s},
            {"end_s", span.end_s},
            {"bytes", span.bytes}};
}

}  // namespace

Result<Json> answer(const PredictArguments& arguments, const model::Platform& platform,
                    const model::Network& network) {
    const auto places = collectives::places_of(platform, arguments.ranks);
    Json candidates = Json::array();
    Json left_out = Json::array();
    Json spans = Json::array();
    model::Watch watch;
    if (arguments.spans) watch = [&](const model::Span& span) { spans.push_back(as_json(span)); };
    for (const auto& candidate : arguments.candidates) {
        auto entry = named(candidate);
        Json predicted_s = Json::array();
        for (const auto bytes : arguments.sizes_bytes) {
            const auto priced = collectives::predict(
                *candidate.algorithm, call_of(arguments, candidate, bytes, places), network, watch);
            if (!priced) {
                entry["reason"] = priced.failure().sentence;
                break;
            }
            predicted_s.push_back(priced->total_s);
        }
        if (entry.contains("reason")) {
            left_out.push_back(std::move(entry));
            continue;
        }
        entry["predicted_s"] = std::move(predicted_s);
        const auto model_s = cost_model_s(arguments, candidate, platform);
        if (!model_s.is_null()) entry["cost_model_s"] = model_s;
        candidates.push_back(std::move(entry));
    }
    Json all = {{"schema", "lanewise-prediction"},
                {"version", 1},
                {"lanewise", lw_version()},
                {"platform", arguments.platform},
                {"model", arguments.model},
                {"collective", name_of(arguments.collective)},
                {"ranks", arguments.ranks},
                {"root", arguments.root},
                {"message_bytes", arguments.sizes_bytes},
                {"candidates", std::move(candidates)},
                {"left_out", std::move(left_out)}};
    if (arguments.spans) all["spans"] = std::move(spans);
    return all;
}

}  // namespace lanewise::report
