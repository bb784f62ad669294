// SPDX-License-Identifier: BSD-3-Clause
//
// See likely_algorithms.hpp. message_bytes of a collective is what CallShape::count is, in
// bytes: the block of one rank, or the vector (include/lanewise/operation.h).

#include "collectives/likely_algorithms.hpp"

#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

std::vector<model::ScheduleOf> likely_algorithms(const model::Observation& seen, int ranks) {
    const auto collective = collective_named(seen.operation);
    std::vector<model::ScheduleOf> schedules;
    for (const auto *name : {"linear", "linear_nb", "binomial"}) {
        if (!collective) break;
        const auto *algorithm = find_algorithm(*collective, name);
        if (!algorithm || algorithm->needs.platform || algorithm->needs.all_counts) continue;
        schedules.push_back(
            [algorithm, ranks, root = seen.root, bytes = seen.message_bytes](int rank) {
                CallShape shape;
                shape.ranks = ranks;
                shape.rank = rank;
                shape.root = root;
                shape.count = bytes;
                return algorithm->build(shape);
            });
    }
    return schedules;
}

}  // namespace lanewise::collectives
