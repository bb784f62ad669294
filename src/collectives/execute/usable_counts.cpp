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

const char *fault_of(const Numbers& counts, int ranks) {
    if (!counts) return "no counts";
    for (int rank = 0; rank < ranks; ++rank) {
        if (counts[rank] < 0) return "a count below 0";
    }
    return nullptr;
}

const char *fault_of(const Numbers& counts, const Numbers& displacements, int ranks) {
    return displacements ? fault_of(counts, ranks) : "no displacements";
}

const char *fault_of(std::int64_t count) {
    return count < 0 ? "a count below 0" : nullptr;
}

const char *fault_of_sent(const Call& call, int ranks) {
    switch (call.collective) {
        case Collective::scatterv: return fault_of(call.counts, call.displacements, ranks);
        case Collective::alltoallw:
            if (!call.send_types) return "no datatypes";
            [[fallthrough]];
        case Collective::alltoallv:
            return fault_of(call.send_counts, call.send_displacements, ranks);
        default: return fault_of(call.send_count);
    }
}

const char *fault_of_received(const Call& call, int ranks) {
    switch (call.collective) {
        case Collective::reduce_scatter: return fault_of(call.counts, ranks);
        case Collective::alltoallw:
            if (!call.receive_types) return "no datatypes";
            [[fallthrough]];
        case Collective::gatherv:
        case Collective::allgatherv:
        case Collective::alltoallv: return fault_of(call.counts, call.displacements, ranks);
        default: return fault_of(call.receive_count);
    }
}

}  // namespace

const char *fault_of_counts(const Call& call, int rank, int ranks) {
    const auto *sent = looks_at_sent(call, rank) ? fault_of_sent(call, ranks) : nullptr;
    if (sent || !looks_at_received(call, rank)) return sent;
    return fault_of_received(call, ranks);
}

}  // namespace lanewise::collectives
