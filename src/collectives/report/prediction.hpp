// SPDX-License-Identifier: BSD-3-Clause
//
// What lanewise-predict is asked, and what it prints.

#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "collectives/algorithm.hpp"
#include "model/platform/platform.hpp"
#include "model/simulation/network.hpp"
#include "options/options.hpp"

namespace lanewise::report {

/* An algorithm with what may be chosen of it: NAME[:SEGMENT[:LANES]] on the command line. */
struct Candidate {
    const collectives::Algorithm *algorithm = nullptr;
    std::uint64_t segment_bytes = 0; /* 0: the algorithm's own choice */
    int lanes = 1;
};

struct PredictArguments {
    collectives::Collective collective = collectives::Collective::scatter;
    std::vector<Candidate> candidates;
    std::string platform = "platform.json";
    std::string model; /* empty: the platform's best */
    int ranks = 0;     /* 0: as many as the platform was measured with */
    int root = 0;
    std::vector<std::uint64_t> sizes_bytes;
    bool spans = false; /* tell who is busy when; of one candidate at one size */
};

Result<std::variant<PredictArguments, Leave>> parse_predict(int argc, char **argv);

/* `arguments.ranks` is set. */
Result<Json> answer(const PredictArguments& arguments, const model::Platform& platform,
                    const model::Network& network);

}  // namespace lanewise::report
