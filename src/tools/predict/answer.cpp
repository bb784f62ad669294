// SPDX-License-Identifier: BSD-3-Clause

#include "tools/predict/answer.hpp"

#include <array>

#include "collectives/predict.hpp"

namespace lanewise::tools {
namespace {

using collectives::Question;

Question call_of(const PredictArguments& arguments, const Candidate& candidate,
                 std::uint64_t message_bytes, const std::vector<int>& hosts) {
    return {.collective = arguments.collective,
            .ranks = arguments.ranks,
            .root = arguments.root,
            .message_bytes = message_bytes,
            .segment_bytes = candidate.segment_bytes,
            .lanes = candidate.lanes,
            .hosts = hosts};
}

Json named(const Candidate& candidate) {
    return {{"algorithm", candidate.algorithm->name},
            {"segment_bytes", candidate.segment_bytes},
            {"lanes", candidate.lanes}};
}

Json written(const model::Span& span) {
    static constexpr std::array names = {"send", "receive", "copy", "reduce", "egress", "ingress"};
    return {{"what", names[static_cast<std::size_t>(span.what)]},
            {"rank", span.rank},
            {"peer", span.peer},
            {"begin_s", span.begin_s},
            {"end_s", span.end_s},
            {"bytes", span.bytes}};
}

}  // namespace

Result<Json> answer(const PredictArguments& arguments, const model::Network& network,
                    const std::vector<int>& hosts) {
    Json candidates = Json::array();
    Json left_out = Json::array();
    Json spans = Json::array();
    model::Watch watch;
    if (arguments.spans) watch = [&](const model::Span& span) { spans.push_back(written(span)); };
    for (const auto& candidate : arguments.candidates) {
        auto entry = named(candidate);
        Json predicted_s = Json::array();
        for (const auto bytes : arguments.sizes_bytes) {
            const auto priced = collectives::predict(
                *candidate.algorithm, call_of(arguments, candidate, bytes, hosts), network, watch);
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

}  // namespace lanewise::tools
