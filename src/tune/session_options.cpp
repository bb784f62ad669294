// SPDX-License-Identifier: BSD-3-Clause
//
// See settings.hpp.

#include "tune/session_options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/sizes.hpp"
#include "measure/bench.hpp"

namespace lanewise::tools {
namespace {

Failure usage(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

Outcome read_repetitions(const std::string& text, RaceRule& rule) {
    const auto number = [](std::string_view digits, std::size_t& value) {
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc{} && end == digits.data() + digits.size() && value > 0;
    };
    const auto colon = text.find(':');
    const bool both = colon != std::string::npos;
    if (both && number(std::string_view(text).substr(0, colon), rule.repetitions_min) &&
        number(std::string_view(text).substr(colon + 1), rule.repetitions_max) &&
        rule.repetitions_min <= rule.repetitions_max)
        return Done{};
    return usage("repetitions \"" + text + "\" are not MIN:MAX; write 10:1000");
}

}  // namespace

lw_measure_options Settings::measure_options() const {
    lw_measure_options options = LW_MEASURE_OPTIONS;
    options.confidence = rule.confidence;
    options.error = rule.error;
    options.time_limit_s = time_limit_s;
    options.seed = seed;
    return options;
}

void declare_settings(CLI::App& app, SettingTexts& texts, Settings& settings) {
    app.add_option("--sizes", texts.sizes, "8,1K or 4:1M:x4 or 0:100K:1K (4:1M:x4)");
    app.add_option("--margin", settings.rule.margin, "least gain that counts (0.03)");
    app.add_option("--confidence", settings.rule.confidence, "of the intervals (0.95)");
    app.add_option("--repetitions", texts.repetitions, "MIN:MAX (10:1000)");
    app.add_option("--budget", settings.budget_s, "seconds for the whole run, 0: none (0)");
    app.add_option("--time-limit", settings.time_limit_s, "seconds a size (10)");
    app.add_option("--seed", settings.seed, "of the order in which candidates take turns (0)");
    app.add_option("-o,--output", settings.output, "evidence.jsonl to write");
    app.add_flag("--resume", settings.resume, "go on with the output file");
    app.add_option("--ranks", settings.ranks_expected, "refuse to run on another number");
    app.add_option("--launcher", settings.launcher, "name kept in the output");
}

Outcome read_settings(const SettingTexts& texts, Settings& settings) {
    const auto sizes = parse_sizes(texts.sizes);
    if (!sizes) return sizes.failure();
    settings.sizes_bytes = *sizes;
    const auto repetitions = read_repetitions(texts.repetitions, settings.rule);
    if (!repetitions) return repetitions;
    const auto margin = settings.rule.margin;
    if (!(margin >= 0.0 && margin < 1.0))
        return usage(fmt::format("margin {} is outside [0, 1); 3 % is 0.03", margin));
    if (!(settings.budget_s >= 0.0))
        return usage(fmt::format("budget of {} seconds; 0 is none", settings.budget_s));
    if (!(settings.time_limit_s > 0.0))
        return usage(
            fmt::format("time limit of {} seconds; name a time above 0", settings.time_limit_s));
    if (settings.resume && settings.output.empty())
        return usage("--resume needs the file to go on with; add -o FILE");
    return measure::Bench::admit(settings.measure_options());
}

}  // namespace lanewise::tools
