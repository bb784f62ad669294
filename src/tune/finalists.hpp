// SPDX-License-Identifier: BSD-3-Clause
//
// Finalists: which candidates a launch screens or judges at which sizes. `lanewise tune` chooses
// them from what launches before measured, and passes them in a file that only the first rank needs
// to see.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/algorithm.hpp"
#include "tune/candidates.hpp"

namespace lanewise::tune {

/* A candidate as a file names it. */
struct Finalist {
    Origin origin = Origin::lanewise;
    std::string algorithm;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
};

struct JudgedPoint {
    collectives::Operation operation = collectives::Collective::barrier;
    std::uint64_t message_bytes = 0;
    double default_s = 0.0; /* as the first launch found it */
    double repetition_s =
        0.0; /* of the time of a launch; on busy machines longer than its median */
    std::vector<Finalist> candidates;
};

/* What a launch measures them for: to choose fewer of them, or to judge. */
enum class Stage { screening, judgement };

/* "screening"; what records of the stage are called. */
const char *name_of(Stage stage);

struct Finalists {
    Stage stage = Stage::judgement;
    std::vector<JudgedPoint> points;
};

/* `name` stands for the file in a failure. */
Result<Finalists> parse_finalists(std::string_view text, const std::string& name);

}  // namespace lanewise::tune
