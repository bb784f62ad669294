// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/kept_blocks.hpp"

#include "collectives/execute/cached_call.hpp"

namespace lanewise::collectives {
namespace {

void keep_numbers(Numbers& given, int blocks, std::vector<std::int64_t>& kept) {
    if (!given) return;
    for (int block = 0; block < blocks; ++block) kept.push_back(given[block]);
    given = kept.data();
}

}  // namespace

void KeptBlocks::keep(Numbers& counts, Numbers& displacements, Types& types, int blocks) {
    keep_numbers(counts, blocks, counts_);
    keep_numbers(displacements, blocks, displacements_);
    if (!types) return;
    for (int block = 0; block < blocks; ++block) {
        // The type of an empty block may be anything.
        const auto type = counts[block] > 0 ? types[block] : MPI_DATATYPE_NULL;
        types_.push_back(type);
        if (!is_predefined_type(type)) held_.emplace_back().hold(type);
    }
    types = types_.data();
}

}  // namespace lanewise::collectives
