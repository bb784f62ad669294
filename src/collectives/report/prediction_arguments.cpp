// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "collectives/report/prediction_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/sizes.hpp"

namespace lanewise::tools {
namespace {

using collectives::Algorithm;
using collectives::Collective;

struct Texts {
    std::string collective;
    std::vector<std::string> algorithms;
    std::string sizes = "8,1K,64K,1M";
};

Failure usage(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

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
    return usage(fmt::format("unknown collective \"{}\"; use {}", name, fmt::join(names, ", ")));
}

Result<const Algorithm *> algorithm_of(Collective collective, const std::string& name) {
    if (const auto *algorithm = collectives::find_algorithm(collective, name)) return algorithm;
    std::vector<std::string> names{"all"};
    for (const auto *algorithm : algorithms_of(collective)) names.emplace_back(algorithm->name);
    return usage(fmt::format("{} has no algorithm \"{}\"; use {}", name_of(collective), name,
                             fmt::join(names, ", ")));
}

Result<Candidate> candidate_of(Collective collective, const std::string& text) {
    const auto parts = split(text, ':');
    if (parts.size() > 3) {
        return usage(fmt::format("\"{}\" is not NAME[:SEGMENT[:LANES]]", text));
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
            return usage(fmt::format("\"{}\": {} is not a number of lanes", text, parts[2]));
        }
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
    return usage(fmt::format("{} has no algorithms yet", name_of(arguments.collective)));
}

Outcome read(Texts& texts, const CLI::App& app, PredictArguments& arguments) {
    if (app.count("--ranks") > 0 && arguments.ranks < 1) {
        return usage(fmt::format("--ranks {}: there is at least 1", arguments.ranks));
    }
    if (arguments.root < 0) {
        return usage(fmt::format("--root {}: ranks count from 0", arguments.root));
    }
    const auto collective = collective_of(texts.collective);
    if (!collective) return collective.failure();
    arguments.collective = *collective;
    if (texts.algorithms.empty()) texts.algorithms.emplace_back("all");
    const auto candidates = read_candidates(texts, arguments);
    if (!candidates) return candidates.failure();
    const auto sizes = parse_sizes(texts.sizes);
    if (!sizes) return sizes.failure();
    arguments.sizes_bytes = *sizes;
    if (*collective == Collective::barrier) arguments.sizes_bytes = {0};
    const bool one = arguments.candidates.size() == 1 && arguments.sizes_bytes.size() == 1;
    if (arguments.spans && !one) {
        return usage(
            "who is busy when is told of one algorithm at one size; give --algorithm and --sizes");
    }
    return Done{};
}

void declare(CLI::App& app, Texts& texts, PredictArguments& arguments) {
    app.add_option("collective", texts.collective, "scatter, bcast, allreduce, ...")->required();
    app.add_option("--platform", arguments.platform, "platform.json of lanewise fit")->required();
    app.add_option("--model", arguments.model, "hockney, loggp, plogp or lmo (the best)");
    app.add_option("--ranks", arguments.ranks, "how many (as the platform)");
    app.add_option("--root", arguments.root, "of rooted collectives (0)");
    app.add_option("--algorithm", texts.algorithms,
                   "NAME[:SEGMENT[:LANES]],... or all; repeatable (all)")
        ->allow_extra_args(false);
    app.add_option("--sizes", texts.sizes, "8,1K,64K or 1:4M:x2 (8,1K,64K,1M)");
    app.add_flag("--spans", arguments.spans, "who is busy when; of one algorithm at one size");
    // Said by programs that ask all of ours for it; there is no other output.
    app.add_flag("--json")->description("one JSON object, as always");
}

}  // namespace

Result<std::variant<PredictArguments, PredictLeave>> parse_predict(int argc, char **argv) {
    PredictArguments arguments;
    Texts texts;
    CLI::App app(
        "Predict how long a collective takes by each algorithm:\n"
        "  lanewise-predict scatter --platform platform.json --ranks 4096\n",
        "lanewise-predict");
    app.set_version_flag("--version", std::string("lanewise-predict ") + lw_version());
    declare(app, texts, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return {PredictLeave{app.help("", CLI::AppFormatMode::Normal)}};
    } catch (const CLI::CallForVersion& version) {
        return {PredictLeave{std::string(version.what()) + "\n"}};
    } catch (const CLI::ParseError& error) {
        return usage(std::string(error.what()) + "; --help lists the options");
    }
    const auto outcome = read(texts, app, arguments);
    if (!outcome) return outcome.failure();
    return {std::move(arguments)};
}

}  // namespace lanewise::tools
