// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {

bool is_one_vector(Collective collective) {
    return collective == Collective::bcast || collective == Collective::reduce ||
           collective == Collective::allreduce || is_scan(collective);
}

std::int64_t scratch_units_max(const Algorithm& algorithm, int ranks, std::int64_t total_units) {
    // The rank of a lane may gather what all ranks of its site and the other sites give.
    if (algorithm.needs.sites) return (ranks + std::int64_t{1}) * total_units;
    switch (algorithm.collective) {
        // Who leads its host may have the blocks of half of all ranks for the other half, and those
        // that come back for them.
        case Collective::alltoall:
            return (algorithm.needs.hosts ? (ranks + 1) / 2 + 2 : 2) * total_units;
        case Collective::barrier: return 0;
        case Collective::bcast: return total_units;
        case Collective::reduce:
        case Collective::allreduce:
        case Collective::reduce_scatter:
            // Where all messages are posted at once, each has a place of its own; one rank may
            // have all blocks that are scattered.
            return (algorithm.posts_at_once ? ranks : 5) * total_units;
        case Collective::scan:
        case Collective::exscan: return ranks * total_units;
        default: return 2 * total_units;
    }
}

}  // namespace lanewise::collectives
