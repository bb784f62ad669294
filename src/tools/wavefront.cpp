// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront: sweeps over matrices larger than memory.

#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "wavefront/commands/commands.hpp"

namespace lanewise::tools {

int wavefront_main(int argc, char **argv) {
    using namespace wavefront::commands;
    constexpr const char *program = "lanewise-wavefront";
    const auto parsed = parse_wavefront(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (const auto *leave = std::get_if<Leave>(&*parsed)) return print(*leave);
    return run_and_report(program, "give a smaller --memory", [&] {
        const auto outcome = carry_out(std::get<WavefrontArguments>(*parsed));
        return outcome ? 0 : say_failure(program, outcome.failure());
    });
}

}  // namespace lanewise::tools
