// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/rule_bytes.hpp"

#include "collectives/execute/prepare.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;

using Bytes = std::optional<std::uint64_t>;

Bytes bytes_of(MPI_Count count, MPI_Datatype type) {
    if (count < 0 || type == MPI_DATATYPE_NULL) return std::nullopt;
    MPI_Count size = 0;
    if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return std::nullopt;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(size),
                               &bytes)) {
        return std::nullopt;
    }
    return bytes;
}

Bytes sent(const Call& call) {
    return call.send == MPI_IN_PLACE ? std::nullopt : bytes_of(call.send_count, call.send_type);
}

Bytes received(const Call& call) {
    return bytes_of(call.receive_count, call.receive_type);
}

/* The size of a block where each rank both sends and receives such blocks. */
Bytes exchanged(const Call& call) {
    if (call.send != MPI_IN_PLACE && !sent(call)) return std::nullopt;
    return received(call);
}

/* At the root, what it gives itself has to be valid too. */
Bytes scatter_bytes(const Call& call, bool root) {
    if (!root) return received(call);
    if (call.receive != MPI_IN_PLACE && !received(call)) return std::nullopt;
    return sent(call);
}

Bytes gather_bytes(const Call& call, bool root) {
    return root ? exchanged(call) : sent(call);
}

bool valid_numbers(const Numbers& counts, int blocks) {
    if (!counts) return false;
    for (int block = 0; block < blocks; ++block) {
        if (counts[block] < 0) return false;
    }
    return true;
}

bool valid_counts(const Call& call, const CommunicatorState& state) {
    return valid_numbers(call.counts, state.ranks);
}

bool receives_something(const Call& call, const CommunicatorState& state) {
    if (!call.counts) return call.receive_count > 0;
    const int blocks = received_blocks(call, state);
    for (int block = 0; block < blocks; ++block) {
        if (call.counts[block] > 0) return true;
    }
    return false;
}

/*
 * Whether MPI_IN_PLACE stands for a buffer that a rank needs. Where there is nothing to receive
 * some MPIs take it for any buffer, and other ranks wait for this one. `neighbor_bytes` and `sent`
 * see to what is sent by most collectives.
 */
bool lacks_buffer(const Call& given, const CommunicatorState& state) {
    if (given.receive != MPI_IN_PLACE && given.send != MPI_IN_PLACE) return false;
    if (is_neighborhood(given.collective) && !state.neighbors) return false;
    const Call call = significant(given, state);
    const bool root = state.rank == call.root;
    const bool scatters =
        call.collective == Collective::scatter || call.collective == Collective::scatterv;
    const bool reduces_for_other = call.collective == Collective::reduce && !root;
    const bool lacks_received =
        call.receive == MPI_IN_PLACE && !reduces_for_other && !(scatters && root);
    const bool lacks_sent = call.send == MPI_IN_PLACE && (scatters || reduces_for_other);
    return (lacks_received || lacks_sent) && receives_something(call, state);
}

/* The size where ranks do not know each other's counts is 0. */
Bytes sizeless(bool valid) {
    return valid ? Bytes(0) : std::nullopt;
}

Bytes scatterv_bytes(const Call& call, const CommunicatorState& state) {
    const bool root = state.rank == call.root;
    const bool receives = root && call.receive == MPI_IN_PLACE;
    if (!receives && !received(call)) return std::nullopt;
    if (!root) return 0;
    return sizeless(valid_counts(call, state) && call.displacements &&
                    call.send_type != MPI_DATATYPE_NULL);
}

Bytes gatherv_bytes(const Call& call, const CommunicatorState& state) {
    const bool root = state.rank == call.root;
    const bool in_place = root && call.send == MPI_IN_PLACE;
    if (!in_place && !sent(call)) return std::nullopt;
    if (!root) return 0;
    return sizeless(valid_counts(call, state) && call.displacements &&
                    call.receive_type != MPI_DATATYPE_NULL);
}

Bytes allgatherv_bytes(const Call& call, const CommunicatorState& state) {
    if (call.send != MPI_IN_PLACE && !sent(call)) return std::nullopt;
    return sizeless(valid_counts(call, state) && call.displacements &&
                    call.receive_type != MPI_DATATYPE_NULL);
}

/* Whether a side of alltoallw has a type for each block that is not empty. */
bool valid_types(const Types& types, const Numbers& counts, int blocks) {
    if (!types) return false;
    for (int block = 0; block < blocks; ++block) {
        if (counts[block] > 0 && types[block] == MPI_DATATYPE_NULL) return false;
    }
    return true;
}

bool valid_blocks(const Numbers& counts, const Numbers& displacements, int blocks) {
    return valid_numbers(counts, blocks) && displacements;
}

bool sends_valid_blocks(const Call& call, int blocks) {
    if (!valid_blocks(call.send_counts, call.send_displacements, blocks)) return false;
    return has_types(call.collective) ? valid_types(call.send_types, call.send_counts, blocks)
                                      : call.send_type != MPI_DATATYPE_NULL;
}

bool receives_valid_blocks(const Call& call, int blocks) {
    if (!valid_blocks(call.counts, call.displacements, blocks)) return false;
    return has_types(call.collective) ? valid_types(call.receive_types, call.counts, blocks)
                                      : call.receive_type != MPI_DATATYPE_NULL;
}

Bytes uneven_bytes(const Call& call, const CommunicatorState& state) {
    const bool sends = call.send == MPI_IN_PLACE || sends_valid_blocks(call, state.ranks);
    return sizeless(sends && receives_valid_blocks(call, state.ranks));
}

/* Neighbors have the same size of blocks, but a rank that has none knows no size, and the size may
   be another one where no edge leads. What is sent to nobody or received from nobody may be
   anything. */
Bytes neighbor_bytes(const Call& call, const CommunicatorState& state) {
    if (!state.neighbors || call.send == MPI_IN_PLACE) return std::nullopt;
    const int sources = received_blocks(call, state);
    const int destinations = sent_blocks(call, state);
    const bool even = has_even_blocks(call.collective);
    const bool one_size = even || sends_one_block(call.collective);
    const bool sends = destinations == 0 ||
                       (one_size ? sent(call).has_value() : sends_valid_blocks(call, destinations));
    const bool receives =
        sources == 0 || (even ? received(call).has_value() : receives_valid_blocks(call, sources));
    return sizeless(sends && receives);
}

/* Rules were measured with equal blocks. */
Bytes reduce_scatter_bytes(const Call& call, const CommunicatorState& state) {
    if (!call.counts) return received(call);
    if (!valid_counts(call, state)) return std::nullopt;
    for (int rank = 1; rank < state.ranks; ++rank) {
        if (call.counts[rank] != call.counts[0]) return std::nullopt;
    }
    return bytes_of(call.counts[0], call.receive_type);
}

}  // namespace

Bytes message_bytes(const Call& call, const CommunicatorState& state) {
    const bool root = state.rank == call.root;
    if (is_rooted(call.collective) && (call.root < 0 || call.root >= state.ranks)) {
        return std::nullopt;
    }
    if (is_reduction(call.collective) && call.op == MPI_OP_NULL) return std::nullopt;
    if (lacks_buffer(call, state)) return std::nullopt;
    switch (call.collective) {
        case Collective::barrier: return 0;
        case Collective::scatter: return scatter_bytes(call, root);
        case Collective::gather: return gather_bytes(call, root);
        case Collective::scatterv: return scatterv_bytes(call, state);
        case Collective::gatherv: return gatherv_bytes(call, state);
        case Collective::allgatherv: return allgatherv_bytes(call, state);
        case Collective::alltoallv:
        case Collective::alltoallw: return uneven_bytes(call, state);
        case Collective::neighbor_allgather:
        case Collective::neighbor_allgatherv:
        case Collective::neighbor_alltoall:
        case Collective::neighbor_alltoallv:
        case Collective::neighbor_alltoallw: return neighbor_bytes(call, state);
        case Collective::reduce_scatter: return reduce_scatter_bytes(call, state);
        case Collective::allgather:
        case Collective::alltoall: return exchanged(call);
        case Collective::bcast:
        case Collective::reduce:
        case Collective::allreduce:
        case Collective::scan:
        case Collective::exscan: return received(call);
    }
    return std::nullopt;
}

bool has_blocks(const Call& call, const CommunicatorState& state) {
    return call.collective == Collective::reduce_scatter && call.op != MPI_OP_NULL &&
           call.receive_type != MPI_DATATYPE_NULL && valid_counts(call, state) &&
           !lacks_buffer(call, state);
}

}  // namespace lanewise::tuned
