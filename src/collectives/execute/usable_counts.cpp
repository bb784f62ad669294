// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/usable_counts.hpp"

namespace lanewise::collectives {
namespace {

/* Whether what is sent is looked at on this rank. A reduction tells of it where it is received. */
bool looks_at_sent(const Call& call, int rank) {
    switch (call.collective) {
        case Collective::barrier:
        case Collective::bcast: return false;
        case Collective::scatter:
        case Collective::scatterv: return rank == call.root;
        default: return !is_reduction(call.collective) && call.send != MPI_IN_PLACE;
    }
}

bool looks_at_received(const Call& call, int rank) {
    switch (call.collective) {
        case Collective::barrier: return false;
        case Collective::gather:
        case Collective::gatherv: return rank == call.root;
        default: return call.receive != MPI_IN_PLACE;
    }
}

bool are_usable(const Numbers& counts, int ranks) {
    if (!counts) return false;
    for (int rank = 0; rank < ranks; ++rank) {
        if (counts[rank] < 0) return false;
    }
    return true;
}

bool has_usable_sent(const Call& call, int ranks) {
    switch (call.collective) {
        case Collective::scatterv: return are_usable(call.counts, ranks) && call.displacements;
        case Collective::alltoallw:
            if (!call.send_types) return false;
            [[fallthrough]];
        case Collective::alltoallv:
            return are_usable(call.send_counts, ranks) && call.send_displacements;
        default: return call.send_count >= 0;
    }
}

bool has_usable_received(const Call& call, int ranks) {
    switch (call.collective) {
        case Collective::reduce_scatter: return are_usable(call.counts, ranks);
        case Collective::alltoallw:
            if (!call.receive_types) return false;
            [[fallthrough]];
        case Collective::gatherv:
        case Collective::allgatherv:
        case Collective::alltoallv: return are_usable(call.counts, ranks) && call.displacements;
        default: return call.receive_count >= 0;
    }
}

}  // namespace

bool has_usable_counts(const Call& call, int rank, int ranks) {
    if (looks_at_sent(call, rank) && !has_usable_sent(call, ranks)) return false;
    return !looks_at_received(call, rank) || has_usable_received(call, ranks);
}

}  // namespace lanewise::collectives
