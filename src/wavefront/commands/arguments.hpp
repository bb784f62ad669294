// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of lanewise-wavefront.

#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "options/options.hpp"
#include "wavefront/run/run.hpp"

namespace lanewise::wavefront::commands {

enum class Command {
    create,
    import,
    run,
    resume,
    verify,
    export_,
    info,
    plan,
    kernels,
    convert,
    split,
    join
};

struct WavefrontArguments {
    Command command = Command::info;
    std::string store;
    wavefront::MatrixShape shape;
    std::vector<std::string> names;
    std::vector<std::string> disks;
    bool empty = false;
    std::uint64_t seed = 1;
    std::string matrix;
    std::string file;
    std::string target; /* of convert and join */
    std::vector<std::string> parts;
    std::uint64_t radius = 0; /* of the kernel that parts are for; 0: as the named kernel has */
    std::string snapshots;    /* folder; empty: none are written */
    std::string kernel;
    std::vector<double> parameters;
    wavefront::RunOptions options; /* but for the borders, whose sides depend on the store */
    std::string borders;           /* empty: fixed */
    bool json = false;
};

Result<std::variant<WavefrontArguments, Leave>> parse_wavefront(int argc, char **argv);

}  // namespace lanewise::wavefront::commands
