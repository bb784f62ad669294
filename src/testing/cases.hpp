// SPDX-License-Identifier: BSD-3-Clause
//
// How many cases a test tries that draws them at random or goes through all: `make test` asks for a
// few, and make test-all for all of them.

#pragma once

#include <cstdlib>

namespace lanewise::testing {

template <typename Count>
Count cases(Count all, Count few) {
    return std::getenv("LANEWISE_FEW_CASES") != nullptr ? few : all;
}

}  // namespace lanewise::testing
