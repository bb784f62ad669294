// SPDX-License-Identifier: BSD-3-Clause
//
// Preloaded: liblanewise_tuned.so under this program, so that what is measured is what programs run
// under `lanewise run`: the MPI's own as well as each candidate is a call of MPI_Scatter, and the
// library decides what becomes of it by the rule that is set meanwhile (collectives/tuned/switch).
// Simulated ranks have no preloaded library; there candidates are executed directly.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "collectives/execute/execute.hpp"

namespace lanewise::tune {

/* Whether the library can be under a program of this MPI at all. */
bool can_be_preloaded();

/* Fails where the library lies in a folder that LD_PRELOAD cannot name. */
Outcome check_library_path();

/*
 * Before MPI_Init: where the library is not under this program yet, starts the program once more
 * with it. Returns when it is; fails where it cannot be had. `platform` is for algorithms that look
 * at it; it may be empty.
 */
Outcome preload(char **argv, const std::string& platform);

/* What calls of `operation` follow from now on: `choice` at this size, everything else, or without
   an algorithm everything, the MPI's own. On all ranks alike. */
void follow(collectives::Operation operation, std::uint64_t message_bytes,
            const collectives::Choice& choice);

/* How often a rule served a call that was not prepared. */
std::uint64_t served_count();

}  // namespace lanewise::tune
