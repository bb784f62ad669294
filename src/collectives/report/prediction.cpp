// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/report/prediction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/sizes.hpp"
#include "collectives/predict.hpp"
#include "model/platform/lane_network.hpp"
#include "options/options.hpp"

namespace lanewise::report {
namespace {

using collectives::Algorithm;
using collectives::Collective;
using collectives::PricedCall;

struct Texts {
    std::string collective;
    std::vector<std::string> algorithms;
};

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

std::vector<const Algorithm *> algorithms_of(Collective collective) {
    std::vector<const Algorithm *> own;
    for (const auto *algorithm : collectives::algorithms()) {
        if (algorithm->collective == collective) own.push_back(algorithm);
    }
    return own;
}

Result<Collective> collective_of(const std::string& name) {
    if (const auto collective = collectives::collective_named(name)) return *collective;
    std::vector<std::string> names;
    for (int i = 0; i < collectives::collective_count; ++i) {
        names.emplace_back(collectives::name_of(static_cast<Collective>(i)));
    }
    return bad_argument(
        fmt::format("unknown collective \"{}\"; use {}", name, fmt::join(names, ", ")));
}

Result<const Algorithm *> algorithm_of(Collective collective, const std::string& name) {
    if (const auto *algorithm = collectives::find_algorithm(collective, name)) return algorithm;
    std::vector<std::string> names{"all"};
    for (const auto *algorithm : algorithms_of(collective)) names.emplace_back(algorithm->name);
    return bad_argument(fmt::format("{} has no algorithm \"{}\"; use {}", name_of(collective), name,
                                    fmt::join(names, ", ")));
}

/* NAME, SEGMENT and LANES. A name may have a colon itself, as knomial:4 has. */
std::vector<std::string> parts_of(Collective collective, const std::string& text) {
    auto parts = split(text, ':');
    if (parts.size() < 2) return parts;
    const auto name = parts[0] + ":" + parts[1];
    if (!collectives::find_algorithm(collective, name)) return parts;
    parts.erase(parts.begin());
    parts.front() = name;
    return parts;
}

Result<Candidate> candidate_of(Collective collective, const std::string& text) {
    const auto parts = parts_of(collective, text);
    if (parts.size() > 3) {
        return bad_argument(fmt::format("\"{}\" is not NAME[:SEGMENT[:LANES]]", text));
    }
    const auto algorithm = algorithm_of(collective, parts[0]);
    if (!algorithm) return algorithm.failure();
    Candidate candidate{.algorithm = *algorithm};
    if (parts.size() > 1 && !parts[1].empty()) {
        const auto segment_bytes = parse_size(parts[1]);
        if (!segment_bytes) return segment_bytes.failure();
        candidate.segment_bytes = *segment_bytes;
    }
    if (parts.size() > 2) {
        const auto *end = parts[2].data() + parts[2].size();
        const auto read = std::from_chars(parts[2].data(), end, candidate.lanes);
        if (read.ec != std::errc{} || read.ptr != end || candidate.lanes < 1) {
            return bad_argument(fmt::format("\"{}\": {} is not a number of lanes", text, parts[2]));
        }
    }
    const auto& needs = candidate.algorithm->needs;
    if (candidate.segment_bytes > 0 && !needs.segmented) {
        return bad_argument(fmt::format("\"{}\": {} has no segments, so {} changes nothing", text,
                                        candidate.algorithm->name, parts[1]));
    }
    if (candidate.lanes > 1 && !needs.lanes) {
        return bad_argument(fmt::format("\"{}\": {} uses no lanes, so {} changes nothing", text,
                                        candidate.algorithm->name, parts[2]));
    }
    return candidate;
}

Outcome read_candidates(const Texts& texts, PredictArguments& arguments) {
    for (const auto& list : texts.algorithms) {
        for (const auto& text : split(list, ',')) {
            if (text == "all") {
                for (const auto *algorithm : algorithms_of(arguments.collective)) {
                    arguments.candidates.push_back({.algorithm = algorithm});
                }
                continue;
            }
            const auto candidate = candidate_of(arguments.collective, text);
            if (!candidate) return candidate.failure();
            arguments.candidates.push_back(*candidate);
        }
    }
    if (!arguments.candidates.empty()) return Done{};
    return bad_argument(fmt::format("{} has no algorithms yet", name_of(arguments.collective)));
}

Outcome read(Texts& texts, const Option& ranks, PredictArguments& arguments) {
    if (ranks.given() && arguments.ranks < 1) {
        return bad_argument(fmt::format("--ranks {}: there is at least 1", arguments.ranks));
    }
    if (arguments.root < 0) {
        return bad_argument(fmt::format("--root {}: ranks count from 0", arguments.root));
    }
    const auto collective = collective_of(texts.collective);
    if (!collective) return collective.failure();
    arguments.collective = *collective;
    if (texts.algorithms.empty()) texts.algorithms.emplace_back("all");
    const auto candidates = read_candidates(texts, arguments);
    if (!candidates) return candidates.failure();
    if (*collective == Collective::barrier) arguments.sizes_bytes = {0};
    const bool one = arguments.candidates.size() == 1 && arguments.sizes_bytes.size() == 1;
    if (arguments.spans && !one) {
        return bad_argument(
            "--spans needs one algorithm and one size; give --algorithm and --sizes");
    }
    return Done{};
}

/* T(P) for each size; empty where the chosen model does not speak of the call. */
Json cost_model_s(const PredictArguments& arguments, const Candidate& candidate,
                  const model::Platform& platform) {
    const bool scatters = arguments.collective == Collective::scatter;
    if (!scatters && arguments.collective != Collective::gather) return {};
    if (!candidate.algorithm->needs.lanes) return {};
    const auto crossing = scatters ? model::Crossing::from_root : model::Crossing::to_root;
    const auto sites = model::two_sites(platform, arguments.ranks, arguments.root, crossing);
    if (!sites || sites->lan_bandwidth_Bps <= 0.0) return {};
    // The algorithm takes no more.
    const int most = std::max(sites->root_site_ranks, sites->other_site_ranks);
    const int lanes = std::min(candidate.lanes, most);
    Json times_s = Json::array();
    for (const auto bytes : arguments.sizes_bytes) {
        const auto block_bytes = static_cast<std::int64_t>(bytes);
        times_s.push_back(model::scatter_s(*sites, lanes, block_bytes));
    }
    return times_s;
}

PricedCall call_of(const PredictArguments& arguments, const Candidate& candidate,
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

Result<std::variant<PredictArguments, Leave>> parse_predict(int argc, char **argv) {
    PredictArguments arguments;
    Texts texts;
    bool json = false;
    Options options("lanewise-predict",
                    "Predicts how long a collective takes by each algorithm:\n"
                    "  lanewise-predict scatter --platform platform.json --ranks 4096\n");
    options
        .text("collective", "COLLECTIVE", texts.collective,
              "Collective, such as scatter or allreduce")
        .required();
    options.text("--platform", "FILE", arguments.platform, "Platform file of lanewise model fit");
    options.text(
        "--model", "MODEL", arguments.model,
        "Model: hockney, loggp, plogp, lmo, piecewise or lanes (default: the one that fits best)");
    const auto& ranks = options
                            .number("--ranks", "N", arguments.ranks,
                                    "Number of ranks (default: as many as the platform has)")
                            .without_default();
    options.number("--root", "RANK", arguments.root, "Root of rooted collectives");
    options
        .texts("--algorithm", "NAME[:SEGMENT[:LANES]]", texts.algorithms,
               "Algorithms separated by commas; repeatable (default: all)")
        .one_value_per_use();
    options.sizes("--sizes", "8,1K,64K,1M", arguments.sizes_bytes,
                  "Message sizes in bytes: 8,1K,64K or 1:4M:x2");
    options.flag("--spans", arguments.spans,
                 "Also print when each rank is busy; for one algorithm at one size");
    // Given by programs that ask every command for it; there is no other output.
    options.flag("--json", json, "Print one JSON object, which is the default");
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return parsed.failure();
    if (*parsed) return {**parsed};
    const auto outcome = read(texts, ranks, arguments);
    if (!outcome) return outcome.failure();
    return {std::move(arguments)};
}

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
