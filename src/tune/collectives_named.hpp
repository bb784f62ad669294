// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives as they are named on a command line, and the sizes they can have.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::tune {

/* All that can be measured on a communicator without a topology. */
std::vector<collectives::Collective> measured_collectives();

/* Those called `names`; all of these where there are none. A wrong name gets a suggestion. */
Result<std::vector<collectives::Collective>> collectives_named(
    const std::vector<std::string>& names);

/* The same with nonblocking ones ("ibcast"); without names all blocking ones. */
Result<std::vector<collectives::Operation>> operations_named(const std::vector<std::string>& names);

/* The sizes a collective is measured at: reductions need multiples of four, a barrier has none. */
std::vector<std::uint64_t> sizes_for(collectives::Collective collective,
                                     const std::vector<std::uint64_t>& sizes_bytes);

}  // namespace lanewise::tune
