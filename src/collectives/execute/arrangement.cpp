// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/arrangement.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

namespace lanewise::collectives {
namespace {

std::byte *bytes(const void *buffer) {
    return static_cast<std::byte *>(const_cast<void *>(buffer));
}

/* The two buffers of a call that moves data, by what is significant on this rank. */
struct Sides {
    Side send;
    Side receive;
    bool send_in_place = false;
    bool receive_in_place = false;
};

Sides sides_of(const Call& call, const CommunicatorState& state) {
    const bool root = state.rank == call.root;
    const Side send{.buffer = bytes(call.send), .count = call.send_count, .type = call.send_type};
    const Side receive{
        .buffer = bytes(call.receive), .count = call.receive_count, .type = call.receive_type};
    Side blocks_sent = send;
    Side blocks_received = receive;
    for (Side *side : {&blocks_sent, &blocks_received}) {
        side->each_rank = true;
        side->blocks = state.ranks;
        side->counts = call.counts;
        side->displacements = call.displacements;
    }
    switch (call.collective) {
        case Collective::bcast:
            return {{}, receive};
        case Collective::scatter:
        case Collective::scatterv:
            if (!root) return {{}, receive};
            return {blocks_sent, receive, false, call.receive == MPI_IN_PLACE};
        case Collective::gather:
        case Collective::gatherv:
            if (!root) return {send, {}};
            return {send, blocks_received, call.send == MPI_IN_PLACE};
        case Collective::allgather:
        case Collective::allgatherv:
            return {send, blocks_received, call.send == MPI_IN_PLACE};
        case Collective::alltoall:
            return {blocks_sent, blocks_received, call.send == MPI_IN_PLACE};
        default:
            return {};
    }
}

/* Writes down the blocks of the side that has one for each rank, in bytes from its base. */
void describe_blocks(const Side& side, const CommunicatorState& state, Arrangement& arrangement) {
    std::int64_t packed_bytes = 0;
    for (int r = 0; r < state.ranks; ++r) {
        const auto block_bytes = side.count_of(r) * side.layout.size;
        arrangement.counts.push_back(block_bytes);
        arrangement.offsets.push_back(side.layout.plain ? side.block(r) - side.buffer
                                                        : packed_bytes);
        packed_bytes += block_bytes;
    }
}

std::int64_t packed_bytes(const Side& side) {
    std::int64_t total = 0;
    for (int r = 0; r < side.blocks; ++r) total += side.count_of(r) * side.layout.size;
    return total;
}

int pack_blocks(const Side& side, const CommunicatorState& state, std::byte *to) {
    for (int r = 0; r < side.blocks; ++r) {
        const auto count = side.count_of(r);
        const int code = pack(side.block(r), count, side.type, side.layout, to, state.duplicate);
        if (code != MPI_SUCCESS) return code;
        to += count * side.layout.size;
    }
    return MPI_SUCCESS;
}

/* The base of a side's bytes: the caller's memory, or a packed copy of its shape. */
std::byte *base_of(const Side& side, std::vector<std::byte>& packed) {
    if (side.absent() || side.layout.plain) return side.buffer;
    packed.resize(static_cast<std::size_t>(packed_bytes(side)));
    return packed.data();
}

/* Where the own block lies in the memory that holds one for each rank. */
std::int64_t own_offset(const Arrangement& arrangement, const CommunicatorState& state) {
    const auto own = static_cast<std::size_t>(state.rank);
    return arrangement.offsets.empty() ? arrangement.count * state.rank : arrangement.offsets[own];
}

/* What this rank must have packed before it begins: what it sends, or the vector it broadcasts. */
int pack_input(const Sides& sides, const Call& call, const CommunicatorState& state,
               Arrangement& arrangement) {
    auto& packed = arrangement.packed;
    if (!packed[0].empty()) {
        const int code = pack_blocks(sides.send, state, packed[0].data());
        if (code != MPI_SUCCESS) return code;
    }
    const bool sends_received = call.collective == Collective::bcast && state.rank == call.root;
    if (packed[1].empty() || (!sends_received && !sides.send_in_place)) return MPI_SUCCESS;
    return pack_blocks(sides.receive, state, packed[1].data());
}

/* MPI_IN_PLACE: the own block is where it shall be; for alltoall the input is copied away. */
void name_in_place(const Sides& sides, const Call& call, const CommunicatorState& state,
                   Arrangement& arrangement) {
    auto& base = arrangement.operands.base;
    if (sides.receive_in_place) base[1] = base[0] + own_offset(arrangement, state);
    if (!sides.send_in_place) return;
    if (call.collective != Collective::alltoall) {
        base[0] = base[1] + own_offset(arrangement, state);
        return;
    }
    const auto total = static_cast<std::size_t>(arrangement.count * state.ranks);
    arrangement.packed[0].resize(total);
    if (total > 0) std::memcpy(arrangement.packed[0].data(), base[1], total);
    base[0] = arrangement.packed[0].data();
}

int arrange_bytes(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    Sides sides = sides_of(call, state);
    if (sides.send_in_place) sides.send = {};
    if (sides.receive_in_place) sides.receive = {};
    for (Side *side : {&sides.send, &sides.receive}) {
        if (!side->absent()) side->layout = layout_of(side->type);
    }
    const bool tells = sides.send.each_rank || sides.receive.absent();
    const Side& blocks = tells ? sides.send : sides.receive;
    if (blocks.counts) {
        describe_blocks(blocks, state, arrangement);
        arrangement.count = arrangement.counts[static_cast<std::size_t>(state.rank)];
    } else {
        arrangement.count = blocks.count * blocks.layout.size;
    }
    auto& base = arrangement.operands.base;
    base[0] = base_of(sides.send, arrangement.packed[0]);
    base[1] = base_of(sides.receive, arrangement.packed[1]);
    const int code = pack_input(sides, call, state, arrangement);
    if (code != MPI_SUCCESS) return code;
    name_in_place(sides, call, state, arrangement);
    const bool root_of_bcast = call.collective == Collective::bcast && state.rank == call.root;
    if (!arrangement.packed[1].empty() && !root_of_bcast) arrangement.unpacked = sides.receive;
    return MPI_SUCCESS;
}

/* A reduce_scatter in place: its input stands where its result goes, so it is copied away. */
int copy_input(const Call& call, const CommunicatorState& state, std::int64_t count,
               const TypeLayout& layout, Arrangement& arrangement) {
    if (count == 0) return MPI_SUCCESS;
    auto& copy = arrangement.packed[0];
    copy.resize(static_cast<std::size_t>((count - 1) * layout.extent + layout.true_extent));
    auto *origin = copy.data() - layout.true_lb;
    arrangement.operands.base[0] = origin;
    if (layout.plain) {
        std::memcpy(origin, call.receive, copy.size());
        return MPI_SUCCESS;
    }
    if (count > INT_MAX) return MPI_ERR_COUNT;
    const int elements = static_cast<int>(count);
    return PMPI_Sendrecv(call.receive, elements, call.receive_type, state.rank, 0, origin, elements,
                         call.receive_type, state.rank, 0, state.duplicate, MPI_STATUS_IGNORE);
}

int arrange_elements(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    const auto layout = layout_of(call.receive_type);
    auto& operands = arrangement.operands;
    operands.type = call.receive_type;
    operands.op = call.op;
    operands.plain = layout.plain;
    operands.stride_bytes = layout.extent;
    arrangement.unit_bytes = layout.size;
    arrangement.count = call.receive_count;
    arrangement.scratch_shift_bytes = -layout.true_lb;
    arrangement.scratch_tail_bytes = std::max<std::int64_t>(0, layout.true_extent - layout.extent);
    if (call.counts) {
        std::int64_t offset = 0;
        for (int r = 0; r < state.ranks; ++r) {
            arrangement.counts.push_back(call.counts[r]);
            arrangement.offsets.push_back(offset);
            offset += call.counts[r];
        }
        arrangement.count = call.counts[state.rank];
    }
    const bool in_place = call.send == MPI_IN_PLACE;
    operands.base[0] = bytes(in_place ? call.receive : call.send);
    operands.base[1] = bytes(call.receive);
    if (!in_place || call.collective != Collective::reduce_scatter) return MPI_SUCCESS;
    const auto total = call.counts ? arrangement.offsets.back() + arrangement.counts.back()
                                   : arrangement.count * state.ranks;
    return copy_input(call, state, total, layout, arrangement);
}

bool is_reduction(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce ||
           collective == Collective::reduce_scatter;
}

}  // namespace

int arrange(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    arrangement.operands.rank = state.rank;
    if (call.collective == Collective::barrier) return MPI_SUCCESS;
    return is_reduction(call.collective) ? arrange_elements(call, state, arrangement)
                                         : arrange_bytes(call, state, arrangement);
}

int unpack_result(const Arrangement& arrangement, const CommunicatorState& state) {
    const Side& side = arrangement.unpacked;
    if (side.absent()) return MPI_SUCCESS;
    const std::byte *from = arrangement.packed[1].data();
    for (int r = 0; r < side.blocks; ++r) {
        const auto count = side.count_of(r);
        const int code =
            unpack(from, side.block(r), count, side.type, side.layout, state.duplicate);
        if (code != MPI_SUCCESS) return code;
        from += count * side.layout.size;
    }
    return MPI_SUCCESS;
}

}  // namespace lanewise::collectives
