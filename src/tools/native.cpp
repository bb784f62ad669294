// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-native: all native programs of one MPI in one file. It is called with the name of a
// subcommand, or through a link that has the name, such as lanewise-measure. A subcommand that
// needs no MPI never starts it, and links with it for a millisecond more at its start.

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>

#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace {

using namespace lanewise::tools;

struct Subcommand {
    std::string_view name;
    int (*main)(int argc, char **argv);
    const char *summary;
};

constexpr Subcommand subcommands[] = {
    {"measure", measure_main, "measure MPI operations"},
    {"tune", tune_main, "find algorithms that are faster than the MPI's default"},
    {"check", check_main, "measure performance guidelines"},
    {"prove", prove_main, "call collectives and check what the MPI answers"},
    {"lane-rates", lane_rates_main, "measure what lanes between sites carry"},
#ifdef LANEWISE_WAVEFRONT_RANKS
    {"wavefront-ranks", wavefront_ranks_main, "sweep over the parts of a store, one per rank"},
#endif
#ifdef LANEWISE_MPI_FREE
    {"fit", fit_main, "fit communication models to samples"},
    {"predict", predict_main, "predict how long a collective takes"},
    {"schedule", schedule_main, "print the schedules of collective algorithms"},
#endif
#ifdef LANEWISE_WAVEFRONT
    {"wavefront", wavefront_main, "sweep over matrices larger than memory"},
#endif
#ifdef LANEWISE_DELAY_LINE
    {"delay-line", delay_line_main, "be the links between the hosts of a testbed"},
#endif
#ifdef LANEWISE_DEVICE_PORTS
    {"device-ports", device_ports_main, "print the ports of RDMA devices"},
#endif
};

const Subcommand *find(std::string_view name) {
    for (const auto& subcommand : subcommands) {
        if (subcommand.name == name) return &subcommand;
    }
    return nullptr;
}

/* "measure" of /usr/libexec/lanewise/openmpi/bin/lanewise-measure. */
std::string_view name_of_link(std::string_view path) {
    constexpr std::string_view prefix = "lanewise-";
    path.remove_prefix(path.find_last_of('/') + 1);
    return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
}

int run(const Subcommand& subcommand, int argc, char **argv) {
    const auto program = "lanewise-" + std::string(subcommand.name);
    return printed(program, subcommand.main(argc, argv));
}

void print_subcommands(std::FILE *stream) {
    std::fputs("usage: lanewise-native SUBCOMMAND [OPTION...]; --help after it lists options\n\n",
               stream);
    for (const auto& subcommand : subcommands) {
        std::fprintf(stream, "  %-16.*s %s\n", static_cast<int>(subcommand.name.size()),
                     subcommand.name.data(), subcommand.summary);
    }
}

}  // namespace

int main(int argc, char **argv) {
    keep_standard_streams_apart();
    // A file over the limit is a write that fails with its reason.
    std::signal(SIGXFSZ, SIG_IGN);
    if (const auto *linked = argc > 0 ? find(name_of_link(argv[0])) : nullptr)
        return run(*linked, argc, argv);
    const std::string_view first = argc > 1 ? argv[1] : "";
    if (const auto *named = find(first)) return run(*named, argc - 1, argv + 1);
    const bool asked = first == "--help" || first == "-h";
    if (!asked && argc > 1)
        std::fprintf(stderr, "lanewise-native: unknown subcommand \"%s\"\n", argv[1]);
    print_subcommands(asked ? stdout : stderr);
    return printed("lanewise-native", asked ? 0 : 2);
}
