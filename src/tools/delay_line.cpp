// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-delay-line: links with rate, delay, jitter, loss and reordering, each between two TUN
// or TAP devices.  The one argument names a file in the form of configuration.hpp; `-` is a pipe.

#include <string>

#include "base/file.hpp"
#include "testbed/loop.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {

int delay_line_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-delay-line";
    if (argc != 2)
        return say_failure(program,
                           {LW_ERR_ARGUMENT, "give one argument, a JSON file of links or -"});
    const std::string name = argv[1];
    return run_and_report(program, "name a file of links", [&] {
        const auto text = read_file(name == "-" ? "/dev/stdin" : name);
        if (!text) return say_failure(program, {LW_ERR_ARGUMENT, text.failure().sentence});
        const auto configuration = testbed::read_configuration(*text);
        if (!configuration) return say_failure(program, configuration.failure());
        return say_failure(program, testbed::serve(*configuration));
    });
}

}  // namespace lanewise::tools
