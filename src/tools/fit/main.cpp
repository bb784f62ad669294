// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-fit: samples.jsonl in, platform.json out.
// Leaves with 0 for success, 1 for a failure while working, 2 for bad usage.

#include <fmt/format.h>
#include <lanewise/status.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fstream>

#include "base/host.hpp"
#include "model/experiments.hpp"
#include "model/fit.hpp"
#include "collectives/report/likely_algorithms.hpp"
#include "collectives/report/fit.hpp"

namespace {

using lanewise::Failure;
using lanewise::Json;
namespace model = lanewise::model;

struct Arguments {
    std::vector<std::string> files;
    std::string output;
    bool json = false;
    int experiments_ranks = 0; /* print what to measure on so many ranks; 0: fit */
    model::FitOptions options;
};

int complain(const Failure& failure) {
    fmt::print(stderr, "lanewise-fit: {}\n", failure.sentence);
    return failure.status == LW_ERR_IO ? 1 : 2;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

// What a message's way through this kernel depends on. Only where the ranks ran here, too.
void add_settings(model::Platform& platform) {
    const auto& hosts = platform.hosts;
    const auto here = lanewise::this_host().name;
    if (std::find(hosts.begin(), hosts.end(), here) == hosts.end()) return;
    for (const auto *name : {"tcp_rmem", "tcp_wmem", "tcp_congestion_control"}) {
        std::ifstream file(std::string("/proc/sys/net/ipv4/") + name);
        std::string line;
        if (!std::getline(file, line)) continue;
        std::replace(line.begin(), line.end(), '\t', ' ');
        platform.fingerprint.settings[std::string("net.ipv4.") + name] = line;
    }
}

int print_experiments(int ranks) {
    Json runs = Json::array();
    for (const auto& run : model::experiments()) {
        if (ranks < run.ranks_min || ranks > run.ranks_max) continue;
        runs.push_back(
            {{"name", run.name}, {"operation", run.operation}, {"arguments", run.arguments}});
    }
    fmt::print("{}\n", Json{{"experiments", runs}}.dump());
    return 0;
}

int fit(const Arguments& arguments) {
    const auto observations = model::read_observations(arguments.files);
    if (!observations) return complain(observations.failure());
    auto options = arguments.options;
    options.algorithms_of = lanewise::tools::likely_algorithms;
    auto done = model::fit(*observations, options);
    if (!done) return complain(done.failure());
    auto& platform = done->platform;
    platform.lanewise = lw_version();
    platform.created = utc_now();
    add_settings(platform);
    if (!arguments.output.empty()) {
        const auto written = model::write_platform(platform, arguments.output);
        if (!written) return complain(written.failure());
    }
    fmt::print("{}", arguments.json ? model::to_json(platform).dump() + "\n"
                                    : lanewise::tools::shown(*done, *observations));
    return 0;
}

}  // namespace

int main(int argc, char **argv) {
    Arguments arguments;
    CLI::App app(
        "Fits communication models to samples of lanewise measure:\n"
        "  lanewise-fit pairs.jsonl triplets.jsonl -o platform.json\n",
        "lanewise-fit");
    app.set_version_flag("--version", std::string("lanewise-fit ") + lw_version());
    app.add_option("files", arguments.files, "files of lanewise measure, of one platform")
        ->option_text("SAMPLES...");
    app.add_option("-o,--output", arguments.output, "platform.json to write");
    app.add_flag("--json", arguments.json, "print the platform instead of tables");
    app.add_option("--redraws", arguments.options.redraws, "bootstrap samples a parameter (200)");
    app.add_option("--seed", arguments.options.seed, "of the bootstrap (1)");
    app.add_option("--experiments", arguments.experiments_ranks,
                   "print what to measure on so many ranks, fit nothing");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::CallForVersion& version) {
        fmt::print("{}\n", version.what());
        return 0;
    } catch (const CLI::ParseError& error) {
        return complain(
            {LW_ERR_ARGUMENT, std::string(error.what()) + "; --help lists the options"});
    }
    if (arguments.experiments_ranks > 0) return print_experiments(arguments.experiments_ranks);
    if (arguments.files.empty())
        return complain({LW_ERR_ARGUMENT, "no samples; try: lanewise fit pairs.jsonl"});
    return fit(arguments);
}
