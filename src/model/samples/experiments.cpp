// SPDX-License-Identifier: BSD-3-Clause
//
// See experiments.hpp. The sizes: 0 for what a message costs at all, one byte,
// and powers of two to where bandwidth is all. Round trips also have sizes
// between these, four in each doubling up to 128 KiB and two above, since an
// MPI changes its protocol, and memory its speed, anywhere between two sizes.
// Triplets are many, so they have few sizes, small and middling, which is
// where processors show.

#include "model/samples/experiments.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace lanewise::model {
namespace {

constexpr int any = std::numeric_limits<int>::max();

// With many peers, some answer later than others that are served before them. This separates the
// time per byte of a processor from that of its links. With few peers only long answers do.
constexpr std::array runs = {
    Run{"pairs", "pairs", "--sizes 0,1,16:1M:x2,24:768K:x2,20:80K:x2,28:112K:x2", 2, any},
    Run{"triplets", "triplets", "--sizes 0,1K,8K,32K --reply 0", 3, any},
    Run{"triplets-same", "triplets", "--sizes 1K,32K --reply same", 3, 5},
    Run{"trains", "trains", "--sizes 0,1,16:1M:x2", 2, any},
    Run{"sends", "sends", "--sizes 0,1,16:1M:x2", 2, any},
    Run{"receives", "receives", "--sizes 0,1,16:1M:x2", 2, any},
    Run{"gather", "gather", "--sizes 1:256K:x2 --repetitions 20:100", 3, any},
};

const Run& run_named(const std::string& name) {
    for (const auto& run : runs) {
        if (name == run.name) return run;
    }
    return runs.front();
}

}  // namespace

std::span<const Run> experiments() {
    return runs;
}

std::string command_for(const std::string& name, const Conditions& conditions) {
    const auto& run = run_named(name);
    std::string line = std::string("lanewise measure ") + run.operation + " -n " +
                       std::to_string(std::max(conditions.ranks, run.ranks_min)) + " " +
                       run.arguments;
    // A transport names its launcher.
    if (!conditions.transport.empty())
        line += " --transport " + conditions.transport;
    else if (!conditions.launcher.empty())
        line += " --launcher " + conditions.launcher;
    if (!conditions.buffers.empty()) line += " --buffers " + conditions.buffers;
    return line + " -o " + run.name + ".jsonl";
}

Failure lacking(const std::string& what, const std::string& name,
                const Observations& observations) {
    return {LW_ERR_NOT_FOUND, "no " + what + " in the samples; measure with: " +
                                  command_for(name, observations.conditions)};
}

std::string link_name(int a, int b) {
    return "link " + std::to_string(std::min(a, b)) + "-" + std::to_string(std::max(a, b));
}

void note_cut(std::vector<std::string>& notes, const std::string& what, double cut) {
    if (!(cut < 0.0)) return;
    char number[32];
    std::snprintf(number, sizeof number, "%.3g", cut);
    notes.push_back(what + " came out at " + number + " s; it is set to 0");
}

}  // namespace lanewise::model
