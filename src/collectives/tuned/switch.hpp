// SPDX-License-Identifier: BSD-3-Clause
//
// Switch: a program that measures rules sets the one rule that its calls follow from now on, in the
// running job. What it then measures is what every other program runs: the interposed functions,
// the decision, the cached call. `lanewise tune` is that program; nothing else is meant to use it,
// and the interface may change with any version.
//
//   LANEWISE_SWITCHED=1   no tuning file is read; calls on every communicator follow the rule that
//                         was set, and go the way of calls without a rule where none is set
//
// The rule is set on every rank at the same place in the sequence of its calls, by the thread that
// makes them.

#pragma once

#include <cstdint>

#include "collectives/choose.hpp"

extern "C" {

/* A rule under test. Without an algorithm every call is left to the MPI. */
struct lanewise_switched_rule {
    std::uint32_t operation; /* Operation::index() */
    std::uint64_t from_bytes;
    std::uint64_t to_bytes;
    const char *algorithm;
    std::int64_t segment_bytes;
    int lanes;
};

/* Zero for success. */
using lanewise_switch_function = int (*)(const struct lanewise_switched_rule *rule);
int lanewise_switch(const struct lanewise_switched_rule *rule);

/* How often a rule was found to serve a call, since the program began. Of calls that repeat, only
   those count that are not yet prepared. */
using lanewise_served_function = std::uint64_t (*)();
std::uint64_t lanewise_served();
}

namespace lanewise::tuned {

/* LANEWISE_SWITCHED is set. */
bool is_switched();

/* The rule that was set, if it is for this call; else null. */
const collectives::Rule *switched_rule(collectives::Operation operation,
                                       std::uint64_t message_bytes);

void count_served();

}  // namespace lanewise::tuned
