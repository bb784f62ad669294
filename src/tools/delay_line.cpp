// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-delay-line: links with rate, delay, jitter, loss and reordering, each between two TUN
// or TAP devices.  The one argument names a file in the form of configuration.hpp; `-` is a pipe.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "testbed/loop.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

constexpr const char *program = "lanewise-delay-line";

std::string all_of(std::istream& stream) {
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

int delay_line_main(int argc, char **argv) {
    if (argc != 2)
        return say_failure(program,
                           {LW_ERR_ARGUMENT, "give one argument, a JSON file of links or -"});
    const std::string name = argv[1];
    std::ifstream file;
    if (name != "-") file.open(name);
    if (!file) return say_failure(program, {LW_ERR_ARGUMENT, name + " cannot be read"});
    const auto configuration = testbed::read_configuration(all_of(name == "-" ? std::cin : file));
    if (!configuration) return say_failure(program, configuration.failure());
    return say_failure(program, testbed::serve(*configuration).failure());
}

}  // namespace lanewise::tools
