// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-fit: samples.jsonl in, platform.json out.

#include <cstdio>

#include "base/host.hpp"
#include "base/json.hpp"
#include "collectives/likely_algorithms.hpp"
#include "collectives/report/fit.hpp"
#include "model/fit/fit.hpp"
#include "model/platform/signature.hpp"
#include "model/samples/experiments.hpp"
#include "options/options.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

struct FitArguments {
    std::vector<std::string> files;
    std::string output;
    bool json = false;
    int experiments_ranks = 0; /* print what to measure on so many ranks; 0: fit */
    model::FitOptions options;
};

int print_experiments(int ranks) {
    Json runs = Json::array();
    for (const auto& run : model::experiments()) {
        if (ranks < run.ranks_min || ranks > run.ranks_max) continue;
        runs.push_back(
            {{"name", run.name}, {"operation", run.operation}, {"arguments", run.arguments}});
    }
    std::puts(Json{{"experiments", runs}}.dump().c_str());
    return 0;
}

Outcome fit(const FitArguments& arguments) {
    const auto observations = model::read_observations(arguments.files);
    if (!observations) return observations.failure();
    auto options = arguments.options;
    options.algorithms_of = collectives::likely_algorithms;
    auto done = model::fit(*observations, options);
    if (!done) return done.failure();
    auto& platform = done->platform;
    model::sign(platform, utc_now(), this_host().name, tcp_settings());
    if (!arguments.output.empty()) {
        const auto written = model::write_platform(platform, arguments.output);
        if (!written) return written;
    }
    const auto text = arguments.json ? json_text(model::to_json(platform)) + "\n"
                                     : report::shown(*done, *observations);
    std::fputs(text.c_str(), stdout);
    return Done{};
}

}  // namespace

int fit_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-fit";
    FitArguments arguments;
    Options options(program,
                    "Fits communication models to samples of lanewise measure:\n"
                    "  lanewise-fit pairs.jsonl triplets.jsonl -o platform.json\n");
    options.texts("files", "SAMPLES", arguments.files,
                  "Sample files of lanewise measure, all from one platform");
    options.text("-o,--output", "FILE", arguments.output, "Platform file to write (.json)");
    options.flag("--json", arguments.json, "Print the platform as JSON instead of tables");
    options.number("--redraws", "N", arguments.options.redraws, "Bootstrap samples per parameter");
    options.number("--seed", "N", arguments.options.seed, "Seed of the bootstrap");
    options
        .number("--experiments", "RANKS", arguments.experiments_ranks,
                "Print what to measure on this many ranks instead of fitting")
        .without_default();
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (*parsed) return print(**parsed);
    if (arguments.experiments_ranks > 0) return print_experiments(arguments.experiments_ranks);
    if (arguments.files.empty())
        return say_failure(program, {LW_ERR_ARGUMENT,
                                     "no samples; measure what the models need with: "
                                     "lanewise model fit --measure -n 4 -o platform.json"});
    return run_and_report(program, "fit fewer files at a time", [&] {
        const auto fitted = fit(arguments);
        return fitted ? 0 : say_failure(program, fitted.failure());
    });
}

}  // namespace lanewise::tools
