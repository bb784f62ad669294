// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront: sweeps over matrices larger than memory.

#include <cstdio>
#include <exception>
#include <new>

#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "wavefront/commands/commands.hpp"

namespace lanewise::tools {

int wavefront_main(int argc, char **argv) {
    using namespace wavefront::commands;
    constexpr const char *program = "lanewise-wavefront";
    const auto parsed = parse_wavefront(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (const auto *leave = std::get_if<WavefrontLeave>(&*parsed)) {
        std::fputs(leave->text.c_str(), stdout);
        return 0;
    }
    try {
        const auto outcome = carry_out(std::get<WavefrontArguments>(*parsed));
        return outcome ? 0 : say_failure(program, outcome.failure());
    } catch (const std::bad_alloc&) {
        return say_failure(program, {LW_ERR_MEMORY, "out of memory; give a smaller --memory"});
    } catch (const std::exception& error) {
        return say_failure(program, {LW_ERR_OPERATION, error.what()});
    }
}

}  // namespace lanewise::tools
