// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront: sweeps over matrices larger than memory.
// Leaves with 0 for success, 1 for a failure while working, 2 for bad usage.

#include <cstdio>

#include "wavefront/commands/commands.hpp"

namespace {

int complain(const lanewise::Failure& failure) {
    std::fprintf(stderr, "lanewise-wavefront: %s\n", failure.sentence.c_str());
    switch (failure.status) {
        case LW_ERR_ARGUMENT:
        case LW_ERR_LIMIT:
        case LW_ERR_NOT_FOUND:
        case LW_ERR_UNSUPPORTED:
            return 2;
        default:
            return 1;
    }
}

}  // namespace

int main(int argc, char **argv) {
    const auto parsed = lanewise::tools::parse_wavefront(argc, argv);
    if (!parsed) return complain(parsed.failure());
    if (const auto *leave = std::get_if<lanewise::tools::WavefrontLeave>(&*parsed)) {
        std::fputs(leave->text.c_str(), stdout);
        return 0;
    }
    const auto outcome =
        lanewise::tools::carry_out(std::get<lanewise::tools::WavefrontArguments>(*parsed));
    return outcome ? 0 : complain(outcome.failure());
}
