// SPDX-License-Identifier: BSD-3-Clause
//
// The comparisons of lanewise-check: a collective against what should not be faster.

#pragma once

#include <string>
#include <vector>

#include "tune/guidelines.hpp"
#include "tune/session_options.hpp"

namespace lanewise::tune {

struct CheckArguments {
    std::vector<collectives::Collective> collectives;
    SessionOptions session;
};

/* Runs them. Collective over MPI_COMM_WORLD. */
Outcome check_guidelines(const CheckArguments& arguments);

}  // namespace lanewise::tune
