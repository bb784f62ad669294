// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-delay-line: links with rate, delay, jitter, loss and reordering, each between two TUN
// or TAP devices.  The one argument names a file in the form of configuration.hpp; `-` is a pipe.
// Leaves with 1 for a failure and 2 for bad usage.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "testbed/loop.hpp"

namespace {

using lanewise::Failure;

int complain(const Failure& failure) {
    std::fprintf(stderr, "lanewise-delay-line: %s\n", failure.sentence.c_str());
    return failure.status == LW_ERR_ARGUMENT ? 2 : 1;
}

std::string all_of(std::istream& stream) {
    return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 2)
        return complain({LW_ERR_ARGUMENT, "give one argument, a JSON file of links or -"});
    const std::string name = argv[1];
    std::ifstream file;
    if (name != "-") file.open(name);
    if (!file) return complain({LW_ERR_ARGUMENT, name + " cannot be read"});
    const auto configuration =
        lanewise::delay_line::read_configuration(all_of(name == "-" ? std::cin : file));
    if (!configuration) return complain(configuration.failure());
    return complain(lanewise::delay_line::serve(*configuration).failure());
}
