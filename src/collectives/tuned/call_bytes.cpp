// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/call_bytes.hpp"

#include <mpi.h>

#include <algorithm>
#include <vector>

#include "collectives/execute/prepare.hpp"

namespace lanewise::tuned {
namespace {

using collectives::Call;
using collectives::Collective;
using collectives::CommunicatorState;
using collectives::Numbers;
using collectives::Types;

/* The blocks of one side of an exchange, of a type each or all of one. */
struct Blocks {
    const Numbers& counts;
    const Types& types;
    MPI_Datatype type;
    int number;
    const std::vector<int> *peers; /* of each; null: all ranks */
};

std::uint64_t block_bytes(MPI_Count count, MPI_Datatype type) {
    MPI_Count bytes = 0;
    if (count <= 0 || type == MPI_DATATYPE_NULL) return 0;
    if (PMPI_Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
    return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(bytes);
}

std::uint64_t sent_block(const Call& call) {
    return block_bytes(call.send_count, call.send_type);
}

std::uint64_t received_block(const Call& call) {
    return block_bytes(call.receive_count, call.receive_type);
}

std::uint64_t counted_block(const Call& call, int rank, MPI_Datatype type) {
    return call.counts ? block_bytes(call.counts[rank], type) : 0;
}

/* Nobody looks at what is there for MPI_PROC_NULL. */
bool is_for_nobody(const Blocks& blocks, int block) {
    return blocks.peers && (*blocks.peers)[static_cast<std::size_t>(block)] == MPI_PROC_NULL;
}

std::uint64_t bytes_of_all(const Blocks& blocks) {
    std::uint64_t bytes = 0;
    MPI_Count count = 0; /* of elements of the one type */
    if (!blocks.counts) return 0;
    for (int block = 0; block < blocks.number; ++block) {
        if (is_for_nobody(blocks, block)) continue;
        if (blocks.types) {
            bytes += block_bytes(blocks.counts[block], blocks.types[block]);
        } else {
            count += blocks.counts[block];
        }
    }
    return bytes + block_bytes(count, blocks.type);
}

std::uint64_t all_sent(const Call& call, const CommunicatorState& state) {
    const bool to_neighbors = is_neighborhood(call.collective);
    return bytes_of_all({call.send_counts, call.send_types, call.send_type,
                         sent_blocks(call, state),
                         to_neighbors ? &state.neighbors->destinations : nullptr});
}

std::uint64_t all_received(const Call& call, const CommunicatorState& state) {
    const bool from_neighbors = is_neighborhood(call.collective);
    return bytes_of_all({call.counts, call.receive_types, call.receive_type,
                         received_blocks(call, state),
                         from_neighbors ? &state.neighbors->sources : nullptr});
}

bool has_any(const std::vector<int>& peers) {
    return std::ranges::any_of(peers, [](int peer) { return peer != MPI_PROC_NULL; });
}

std::uint64_t exchanged_bytes(const Call& call, const CommunicatorState& state) {
    const auto sent = call.send == MPI_IN_PLACE ? 0 : all_sent(call, state);
    return sent > 0 ? sent : all_received(call, state);
}

std::uint64_t neighborhood_bytes(const Call& call, const CommunicatorState& state) {
    if (!state.neighbors) return 0;
    const bool sends = has_any(state.neighbors->destinations);
    switch (call.collective) {
        case Collective::neighbor_allgather:
        case Collective::neighbor_alltoall:
            if (sends) return sent_block(call);
            return has_any(state.neighbors->sources) ? received_block(call) : 0;
        case Collective::neighbor_allgatherv:
            return sends ? sent_block(call) : all_received(call, state);
        default: return exchanged_bytes(call, state);
    }
}

std::uint64_t rooted_bytes(const Call& call, const CommunicatorState& state) {
    const bool is_root = state.rank == call.root;
    switch (call.collective) {
        case Collective::scatter: return is_root ? sent_block(call) : received_block(call);
        case Collective::gather: return is_root ? received_block(call) : sent_block(call);
        case Collective::scatterv:
            return is_root ? counted_block(call, state.rank, call.send_type) : received_block(call);
        case Collective::gatherv:
            return is_root ? counted_block(call, state.rank, call.receive_type) : sent_block(call);
        default: return received_block(call);
    }
}

}  // namespace

std::uint64_t call_bytes(const Call& call, const CommunicatorState& state) {
    if (is_rooted(call.collective)) return rooted_bytes(call, state);
    if (is_neighborhood(call.collective)) return neighborhood_bytes(call, state);
    switch (call.collective) {
        case Collective::barrier: return 0;
        case Collective::allgatherv: return counted_block(call, state.rank, call.receive_type);
        case Collective::alltoallv:
        case Collective::alltoallw: return exchanged_bytes(call, state);
        case Collective::reduce_scatter:
            return call.counts ? counted_block(call, state.rank, call.receive_type)
                               : received_block(call);
        default: return received_block(call);
    }
}

}  // namespace lanewise::tuned
