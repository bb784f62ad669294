// SPDX-License-Identifier: BSD-3-Clause
//
// Choose: what tuning.json says about a call. The file holds the measurements and the rules drawn
// from them; only the rules are kept. Reading is strict: an unknown key, an unknown algorithm or
// overlapping rules refuse the whole file, because a rule that is half understood could make a
// program slower.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

/* From `from_bytes` to `to_bytes`, both included, this algorithm beat the MPI's own. */
struct Rule {
    std::uint64_t from_bytes = 0;
    std::uint64_t to_bytes = 0;
    const Algorithm *algorithm = nullptr;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
};

struct Tuning {
    std::string mpi_family;  /* "openmpi" */
    std::string mpi_library; /* what MPI_Get_library_version said */
    int ranks = 0;
    bool in_one_order = false; /* rules are faster among algorithms of one bracketing only */
    std::vector<int> layout; /* ranks on each host; hosts in the order of their first ranks */
    std::array<std::vector<Rule>, operation_count> rules; /* each ascending */

    const std::vector<Rule>& rules_of(Operation operation) const {
        return rules[operation.index()];
    }
};

/* Reads a file; a failure names the file, the place in it and the remedy. */
Result<Tuning> read_tuning(const std::string& path);
/* Reads text; `name` stands for the file in a failure. */
Result<Tuning> parse_tuning(std::string_view text, const std::string& name);

/* The rule for a call of this size (as lanewise/operation.h counts it); null: the MPI's own. */
const Rule *find(const Tuning& tuning, Operation operation, std::uint64_t message_bytes);

}  // namespace lanewise::collectives
