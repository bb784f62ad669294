// SPDX-License-Identifier: BSD-3-Clause
//
// Experiments: what the models are estimated from, as arguments of `lanewise measure`, and the
// failure that names a missing one.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/samples/observation.hpp"

namespace lanewise::model {

/* One run of `lanewise measure`. */
struct Run {
    const char *name; /* its file is named after it */
    const char *operation;
    const char *arguments; /* after the operation */
    int ranks_min;
    int ranks_max;
};

/* All that the models together need, in the order in which to measure. */
std::span<const Run> experiments();

/* "lanewise measure triplets -n 4 --sizes ... -o triplets.jsonl" for the experiment `name`. */
std::string command_for(const std::string& name, const Conditions& conditions);

/* "no link 2-3; measure it with: lanewise measure ...". */
Failure lacking(const std::string& what, const std::string& name, const Observations& observations);

std::string link_name(int a, int b);

/* Adds a sentence where `cut`, a number found below 0, was set to 0. */
void note_cut(std::vector<std::string>& notes, const std::string& what, double cut);

}  // namespace lanewise::model
