// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of lanewise-tune, read and checked without MPI.

#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "collectives/algorithm.hpp"
#include "options/options.hpp"
#include "tune/session_options.hpp"

namespace lanewise::tune {

struct TuneArguments {
    std::vector<collectives::Operation> operations;
    SessionOptions session;
    std::vector<std::string> algorithms; /* candidates, by name; empty: all */
    std::string platform;                /* platform.json for predictions; empty: none */
    std::string finalists; /* what this launch screens or judges (finalists.hpp); empty: choose */
    int launch = 0;        /* which of those that do it is, from 1 */
    bool plan = false;
    bool list = false;
};

Result<std::variant<TuneArguments, Leave>> parse_tune_arguments(int argc, char **argv);

}  // namespace lanewise::tune
