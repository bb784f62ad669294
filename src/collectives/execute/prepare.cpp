// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/prepare.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <new>
#include <numeric>
#include <optional>

#include "collectives/execute/execute.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;

std::byte *bytes(const void *buffer) {
    return static_cast<std::byte *>(const_cast<void *>(buffer));
}

/* In place, what is received overwrites what is sent. */
Sides uneven_sides(const Call& call, Side sent, Side received) {
    received.types = call.receive_types;
    if (call.send == MPI_IN_PLACE) {
        sent = received;
        sent.is_overwritten = true;
        return {sent, received};
    }
    sent.counts = call.send_counts;
    sent.displacements = call.send_displacements;
    sent.types = call.send_types;
    return {sent, received};
}

Sides neighbor_sides(const Call& call, const CommunicatorState& state, Side sent, Side received) {
    const auto& neighbors = *state.neighbors;
    const bool one_block = sends_one_block(call.collective);
    sent.each_rank = !one_block;
    sent.blocks = one_block ? 1 : sent_blocks(call, state);
    if (!one_block) sent.neighbors = neighbors.destinations;
    received.each_rank = true;
    received.blocks = received_blocks(call, state);
    received.neighbors = neighbors.sources;
    received.counts = call.counts;
    received.displacements = call.displacements;
    received.types = call.receive_types;
    sent.counts = call.send_counts;
    sent.displacements = call.send_displacements;
    sent.types = call.send_types;
    return {sent, received};
}

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
        case Collective::bcast: return {{}, receive};
        case Collective::scatter:
        case Collective::scatterv:
            if (!root) return {{}, receive};
            return {blocks_sent, receive, false, call.receive == MPI_IN_PLACE};
        case Collective::gather:
        case Collective::gatherv:
            if (!root) return {send, {}};
            return {send, blocks_received, call.send == MPI_IN_PLACE};
        case Collective::allgather:
        case Collective::allgatherv: return {send, blocks_received, call.send == MPI_IN_PLACE};
        case Collective::alltoall: return {blocks_sent, blocks_received, call.send == MPI_IN_PLACE};
        case Collective::alltoallv:
        case Collective::alltoallw: return uneven_sides(call, blocks_sent, blocks_received);
        case Collective::neighbor_allgather:
        case Collective::neighbor_allgatherv:
        case Collective::neighbor_alltoall:
        case Collective::neighbor_alltoallv:
        case Collective::neighbor_alltoallw: return neighbor_sides(call, state, send, receive);
        default: return {};
    }
}

/* Looks at the datatypes of a side; where a block is empty, its type may be anything. */
void examine(Side& side) {
    if (!side.types) {
        side.layout = layout_of(side.type);
        return;
    }
    side.layout.plain = true;
    for (int r = 0; r < side.blocks; ++r) {
        const bool empty = side.count_of(r) == 0;
        side.layouts.push_back(empty ? TypeLayout{} : layout_of(side.types[r]));
        if (!empty && !side.layouts.back().plain) side.layout.plain = false;
    }
}

/* Whether the bytes of a side stand in a packed copy rather than in the caller's memory. */
bool is_packed(const Side& side) {
    return !side.absent() && (!side.layout.plain || side.is_overwritten);
}

/* Writes down the blocks of the side that has one for each rank, in bytes from its base. */
void describe_blocks(const Side& side, Arrangement& arrangement) {
    const bool packs = is_packed(side);
    std::int64_t packed_bytes = 0;
    for (int r = 0; r < side.blocks; ++r) {
        arrangement.counts.push_back(side.bytes_of(r));
        arrangement.offsets.push_back(packs ? packed_bytes : side.place_bytes(r));
        packed_bytes += side.bytes_of(r);
    }
}

/* The same for what goes to neighbors: a block for each, or one for all. */
void describe_sent(const Side& side, std::span<const int> destinations, Arrangement& arrangement) {
    if (side.each_rank) return describe_blocks(side, arrangement);
    for (const int destination : destinations) {
        arrangement.counts.push_back(destination < 0 ? 0 : side.bytes_of(0));
        arrangement.offsets.push_back(0);
    }
}

std::int64_t packed_bytes(const Side& side) {
    std::int64_t total = 0;
    for (int r = 0; r < side.blocks; ++r) total += side.bytes_of(r);
    return total;
}

int pack_blocks(const Side& side, ToSelf by, std::byte *to) {
    for (int r = 0; r < side.blocks; ++r) {
        const int code =
            pack(side.block(r), side.count_of(r), side.type_of(r), side.layout_of_block(r), to, by);
        if (code != MPI_SUCCESS) return code;
        to += side.bytes_of(r);
    }
    return MPI_SUCCESS;
}

/* The base of a side's bytes. */
std::byte *base_of(const Side& side, std::vector<std::byte>& packed) {
    if (!is_packed(side)) return side.buffer;
    packed.resize(static_cast<std::size_t>(packed_bytes(side)));
    return packed.data();
}

/* Where the own block lies in the memory that holds one for each rank. */
std::int64_t own_offset(const Arrangement& arrangement, const CommunicatorState& state) {
    const auto own = static_cast<std::size_t>(state.rank);
    return arrangement.offsets.empty() ? arrangement.count * state.rank : arrangement.offsets[own];
}

/* What this rank must have packed before it begins: what it sends, or the vector it broadcasts. */
int pack_sides(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    const Sides& sides = arrangement.sides;
    const auto by = arrangement.operands.to_self();
    auto& to_send = arrangement.packed_of(Place::send);
    auto& to_receive = arrangement.packed_of(Place::receive);
    if (!to_send.empty()) {
        const int code = pack_blocks(sides.send, by, to_send.data());
        if (code != MPI_SUCCESS) return code;
    }
    const bool sends_received = call.collective == Collective::bcast && state.rank == call.root;
    if (to_receive.empty() || (!sends_received && !sides.send_in_place)) return MPI_SUCCESS;
    return pack_blocks(sides.receive, by, to_receive.data());
}

/* MPI_IN_PLACE: the own block is where it shall be; for alltoall the input is copied away. */
void name_in_place(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    const Sides& sides = arrangement.sides;
    auto *& send = arrangement.operands.at(Place::send);
    auto *& receive = arrangement.operands.at(Place::receive);
    if (sides.receive_in_place) receive = send + own_offset(arrangement, state);
    if (!sides.send_in_place) return;
    if (call.collective != Collective::alltoall) {
        send = receive + own_offset(arrangement, state);
        return;
    }
    auto& copy = arrangement.packed_of(Place::send);
    copy.resize(static_cast<std::size_t>(arrangement.count * state.ranks));
    if (!copy.empty()) std::memcpy(copy.data(), receive, copy.size());
    send = copy.data();
}

void arrange_bytes(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    auto& sides = arrangement.sides;
    sides = sides_of(call, state);
    if (sides.send_in_place) sides.send = {};
    if (sides.receive_in_place) sides.receive = {};
    for (Side *side : {&sides.send, &sides.receive}) {
        if (!side->absent()) examine(*side);
    }
    if (is_uneven_exchange(call.collective)) {
        describe_blocks(sides.receive, arrangement);
        describe_blocks(sides.send, arrangement);
        return;
    }
    if (is_neighborhood(call.collective)) {
        describe_blocks(sides.receive, arrangement);
        describe_sent(sides.send, state.neighbors->destinations, arrangement);
        return;
    }
    const bool tells = sides.send.each_rank || sides.receive.absent();
    const Side& blocks = tells ? sides.send : sides.receive;
    if (blocks.counts) {
        describe_blocks(blocks, arrangement);
        arrangement.count = arrangement.counts[static_cast<std::size_t>(state.rank)];
    } else {
        arrangement.count = blocks.count * blocks.layout.size;
    }
}

int pack_bytes(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    const auto& sides = arrangement.sides;
    auto& operands = arrangement.operands;
    auto& received = arrangement.packed_of(Place::receive);
    operands.at(Place::send) = base_of(sides.send, arrangement.packed_of(Place::send));
    operands.at(Place::receive) = base_of(sides.receive, received);
    const int code = pack_sides(call, state, arrangement);
    if (code != MPI_SUCCESS) return code;
    name_in_place(call, state, arrangement);
    const bool root_of_bcast = call.collective == Collective::bcast && state.rank == call.root;
    if (!received.empty() && !root_of_bcast) arrangement.unpacked = sides.receive;
    return MPI_SUCCESS;
}

/* The elements of the vector that a reduce_scatter begins with. */
std::int64_t input_count(const CommunicatorState& state, const Arrangement& arrangement) {
    return arrangement.counts.empty() ? arrangement.count * state.ranks
                                      : arrangement.offsets.back() + arrangement.counts.back();
}

bool copies_input(const Call& call) {
    return call.collective == Collective::reduce_scatter && call.send == MPI_IN_PLACE;
}

/* Whether a rank may need a packed copy, as all ranks answer it: a reduce_scatter with counts may
   be in place on some of them only. */
bool may_pack(const Call& call) {
    if (!is_reduction(call.collective) || copies_input(call)) return true;
    return call.collective == Collective::reduce_scatter && call.counts;
}

std::int64_t copied_bytes(std::int64_t count, const TypeLayout& layout) {
    return count == 0 ? 0 : (count - 1) * layout.extent + layout.true_extent;
}

/* A reduce_scatter in place: its input stands where its result goes, so it is copied away. */
int copy_input(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    const auto count = input_count(state, arrangement);
    const auto layout = layout_of(call.receive_type);
    if (count == 0) return MPI_SUCCESS;
    auto& copy = arrangement.packed_of(Place::send);
    copy.resize(static_cast<std::size_t>(copied_bytes(count, layout)));
    auto *origin = copy.data() - layout.true_lb;
    arrangement.operands.at(Place::send) = origin;
    if (layout.plain) {
        std::memcpy(origin, call.receive, copy.size());
        return MPI_SUCCESS;
    }
    const auto by = arrangement.operands.to_self();
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t done = 0; done < count; done += most) {
        const int elements = static_cast<int>(std::min(most, count - done));
        const auto offset = done * layout.extent;
        const int code =
            PMPI_Sendrecv(bytes(call.receive) + offset, elements, call.receive_type, state.rank,
                          by.tag, origin + offset, elements, call.receive_type, state.rank, by.tag,
                          by.comm, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/* Elements may interleave, as the columns of a matrix do: then the last one of a vector reaches
   past it, and so far no other vector may begin. */
std::int64_t units_apart(const TypeLayout& layout) {
    if (layout.extent <= 0 || layout.true_extent <= layout.extent) return 0;
    return (layout.true_extent - 1) / layout.extent;
}

void arrange_elements(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    const auto layout = layout_of(call.receive_type);
    auto& operands = arrangement.operands;
    operands.type = call.receive_type;
    operands.op = call.op;
    operands.plain = layout.plain;
    operands.stride_bytes = layout.extent;
    arrangement.unit_bytes = layout.size;
    arrangement.count = call.receive_count;
    arrangement.scratch_shift_bytes = -layout.true_lb;
    arrangement.scratch_units_apart = units_apart(layout);
    const bool in_place = call.send == MPI_IN_PLACE;
    operands.at(Place::send) = bytes(in_place ? call.receive : call.send);
    operands.at(Place::receive) = bytes(call.receive);
    if (!call.counts) return;
    std::int64_t offset = 0;
    for (int r = 0; r < state.ranks; ++r) {
        arrangement.counts.push_back(call.counts[r]);
        arrangement.offsets.push_back(offset);
        offset += call.counts[r];
    }
    arrangement.count = call.counts[state.rank];
}

/* The bytes of all blocks or of the vector, where every rank knows how many they are. */
std::optional<std::int64_t> bytes_known_to_all(const Call& call, const CommunicatorState& state,
                                               const Arrangement& arrangement) {
    if (hides_counts(call.collective)) return std::nullopt;
    if (call.collective == Collective::bcast) return arrangement.count;
    const auto unit_bytes = std::max(arrangement.unit_bytes, arrangement.operands.stride_bytes);
    if (arrangement.counts.empty()) return arrangement.count * unit_bytes * state.ranks;
    return std::accumulate(arrangement.counts.begin(), arrangement.counts.end(), std::int64_t{0}) *
           unit_bytes;
}

std::atomic<std::int64_t> scratch_limit_bytes{std::int64_t{256} << 20};

std::shared_ptr<const model::Network>& network() {
    static std::shared_ptr<const model::Network> instance;
    return instance;
}

/* Null for a communicator of other ranks than those that it was measured with. */
const model::Network *network_of(const CommunicatorState& state) {
    // Until a communicator of these ranks has agreed, another thread may be setting it.
    if (!state.has_ranks_of_world) return nullptr;
    const auto *known = network().get();
    return known && known->ranks == state.ranks ? known : nullptr;
}

/* Both sides stand one after the other. */
void part_sides(CallShape& shape, std::size_t received) {
    shape.send_counts = shape.counts.subspan(received);
    shape.send_offsets = shape.offsets.subspan(received);
    shape.counts = shape.counts.first(received);
    shape.offsets = shape.offsets.first(received);
}

CallShape shape_of(const Choice& choice, const Call& call, const CommunicatorState& state,
                   const Arrangement& arrangement) {
    CallShape shape{.ranks = state.ranks,
                    .rank = state.rank,
                    .root = call.root,
                    .count = arrangement.count,
                    .counts = arrangement.counts,
                    .offsets = arrangement.offsets,
                    .unit_bytes = arrangement.unit_bytes,
                    .lanes = choice.lanes};
    if (is_neighborhood(call.collective)) {
        shape.sources = state.neighbors->sources;
        shape.destinations = state.neighbors->destinations;
        part_sides(shape, shape.sources.size());
    }
    if (is_uneven_exchange(call.collective))
        part_sides(shape, static_cast<std::size_t>(state.ranks));
    const auto unit = std::max<std::int64_t>(1, arrangement.unit_bytes);
    if (choice.segment_bytes > 0)
        shape.segment = std::max<std::int64_t>(1, choice.segment_bytes / unit);
    shape.hosts = state.placement.hosts;
    shape.sites = state.placement.sites;
    shape.network = network_of(state);
    return shape;
}

/* Where blocks of these counts lie if no two of them are next to each other: what takes most
   scratch memory. Displacements are each rank's own knowledge. */
std::vector<std::int64_t> offsets_apart(std::span<const std::int64_t> counts) {
    std::vector<std::int64_t> offsets;
    std::int64_t next = 0;
    for (const auto count : counts) {
        offsets.push_back(next);
        next += count + 1;
    }
    return offsets;
}

/* Whether the schedule of each rank keeps to the limit, as far as all ranks know the call. */
bool fits_on_all_ranks(const Algorithm& algorithm, CallShape shape, std::int64_t most_units,
                       std::int64_t units_apart) {
    std::vector<std::int64_t> apart;
    if (!is_reduction(algorithm.collective)) {
        apart = offsets_apart(shape.counts);
        shape.offsets = apart;
    }
    for (shape.rank = 0; shape.rank < shape.ranks; ++shape.rank) {
        if (!shape.counts.empty()) shape.count = shape.count_of(shape.rank);
        if (scratch_with_gaps(algorithm.build(shape), units_apart) > most_units) return false;
    }
    return true;
}

/*
 * Whether no rank's scratch memory exceeds the limit, with the same answer on every rank: where the
 * bound that all of them know does not decide it, the schedules of all ranks are built, as long as
 * there are not too many.
 */
bool fits(const Algorithm& algorithm, const CallShape& shape, const UnitLayout& units) {
    if (!algorithm.scratch_units_max) return true;
    const auto limit = scratch_limit_bytes.load(std::memory_order_relaxed);
    // A unit in scratch takes its extent, which may be more than its data.
    const auto unit_bytes = std::max(shape.unit_bytes, units.stride_bytes);
    const auto most_units = limit / std::max<std::int64_t>(1, unit_bytes);
    // Each place has one unit or more.
    const auto most_before_gaps = most_units / (1 + units.units_apart);
    if (algorithm.scratch_units_max(shape) <= most_before_gaps) return true;
    constexpr int ranks_examined = 1024;
    return shape.ranks <= ranks_examined &&
           fits_on_all_ranks(algorithm, shape, most_units, units.units_apart);
}

}  // namespace

void arrange(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    arrangement.operands.rank = state.rank;
    if (call.collective == Collective::barrier) return;
    if (is_reduction(call.collective)) {
        arrange_elements(call, state, arrangement);
    } else {
        arrange_bytes(call, state, arrangement);
    }
}

std::int64_t packing_bytes(const Call& call, const CommunicatorState& state,
                           const Arrangement& arrangement) {
    if (copies_input(call)) {
        return copied_bytes(input_count(state, arrangement), layout_of(call.receive_type));
    }
    const auto& sides = arrangement.sides;
    std::int64_t total = 0;
    for (const Side *side : {&sides.send, &sides.receive}) {
        if (is_packed(*side)) total += packed_bytes(*side);
    }
    const bool copied = call.collective == Collective::alltoall && sides.send_in_place;
    return copied ? total + arrangement.count * state.ranks : total;
}

int pack_input(const Call& call, const CommunicatorState& state, Arrangement& arrangement) {
    try {
        if (copies_input(call)) return copy_input(call, state, arrangement);
        if (call.collective == Collective::barrier || is_reduction(call.collective)) {
            return MPI_SUCCESS;
        }
        return pack_bytes(call, state, arrangement);
    } catch (const std::bad_alloc&) {
        return MPI_ERR_NO_MEM;
    }
}

bool packing_fits(const Call& call, const CommunicatorState& state, const Arrangement& arrangement,
                  bool& asked) {
    const auto limit = scratch_limit_bytes.load(std::memory_order_relaxed);
    const auto known = bytes_known_to_all(call, state, arrangement);
    // Both buffers may have to be packed.
    asked = may_pack(call) && known && 2 * *known > limit;
    if (!asked) return true;
    const int mine = packing_bytes(call, state, arrangement) > limit ? 1 : 0;
    int any = 1;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, state.duplicate);
    return any == 0;
}

int unpack_result(const Arrangement& arrangement) {
    const Side& side = arrangement.unpacked;
    if (side.absent()) return MPI_SUCCESS;
    const std::byte *from = arrangement.packed_of(Place::receive).data();
    for (int r = 0; r < side.blocks; ++r) {
        const int code = unpack(from, side.block(r), side.count_of(r), side.type_of(r),
                                side.layout_of_block(r), arrangement.operands.to_self());
        if (code != MPI_SUCCESS) return code;
        from += side.bytes_of(r);
    }
    return MPI_SUCCESS;
}

namespace {

Call without_sent(Call call) {
    call.send = nullptr;
    call.send_count = 0;
    call.send_type = MPI_DATATYPE_NULL;
    call.send_counts = call.send_displacements = {};
    call.send_types = {};
    return call;
}

Call without_received(Call call) {
    call.receive = nullptr;
    call.receive_count = 0;
    call.receive_type = MPI_DATATYPE_NULL;
    call.counts = call.displacements = {};
    call.receive_types = {};
    return call;
}

/* Where a rank has nobody to send to or to receive from, that side may be anything. */
Call significant_to_neighbors(Call call, const CommunicatorState& state) {
    if (!state.neighbors) return call;
    if (state.neighbors->destinations.empty()) call = without_sent(call);
    if (state.neighbors->sources.empty()) call = without_received(call);
    return call;
}

}  // namespace

Call significant(Call call, const CommunicatorState& state) {
    if (is_neighborhood(call.collective)) return significant_to_neighbors(call, state);
    if (state.rank == call.root) return call;
    switch (call.collective) {
        case Collective::scatter:
        case Collective::scatterv: call.counts = call.displacements = {}; return without_sent(call);
        case Collective::gather:
        case Collective::gatherv: return without_received(call);
        default: return call;
    }
}

int received_blocks(const Call& call, const CommunicatorState& state) {
    if (!is_neighborhood(call.collective)) return state.ranks;
    return static_cast<int>(state.neighbors->sources.size());
}

int sent_blocks(const Call& call, const CommunicatorState& state) {
    if (!is_neighborhood(call.collective)) return state.ranks;
    return static_cast<int>(state.neighbors->destinations.size());
}

bool admits(const Algorithm& algorithm, const Call& call, const CommunicatorState& state) {
    // Elements that run backwards through memory have no place in scratch.
    if (is_reduction(algorithm.collective) && layout_of(call.receive_type).extent <= 0)
        return false;
    if (is_neighborhood(algorithm.collective) && !state.neighbors) return false;
    CallTraits traits{.ranks = state.ranks,
                      .platform = network_of(state) != nullptr,
                      .hosts = state.placement.host_count() > 1,
                      .sites = state.placement.site_count() > 1,
                      .repeated_edges = state.neighbors && state.neighbors->repeat_anywhere};
    if (algorithm.needs.commutative && is_reduction(algorithm.collective)) {
        int commutes = 0;
        PMPI_Op_commutative(call.op, &commutes);
        traits.commutative = commutes != 0;
    }
    return refusal(algorithm, traits).empty();
}

const KeptProgram& program_for(const Choice& choice, const Call& call, CommunicatorState& state,
                               const Arrangement& arrangement) {
    const ProgramKey key{
        .algorithm = choice.algorithm,
        .root = call.root,
        .lanes = choice.lanes,
        .count = arrangement.count,
        .units = {.stride_bytes = arrangement.operands.stride_bytes,
                  .data_bytes = arrangement.unit_bytes,
                  .units_apart = arrangement.scratch_units_apart},
        .segment = choice.segment_bytes,
        .arithmetic = arrangement.operands.combine ? Arithmetic::own : Arithmetic::of_mpi};
    if (const auto *kept = state.find(key, arrangement.counts, arrangement.offsets)) return *kept;
    const CallShape shape = shape_of(choice, call, state, arrangement);
    KeptProgram made{key, arrangement.counts, arrangement.offsets, nullptr};
    if (fits(*choice.algorithm, shape, key.units)) {
        made.program = std::make_shared<const Program>(
            compile(choice.algorithm->build(shape), key.units, key.arithmetic));
    }
    return state.keep(std::move(made));
}

bool shares_counts(const Algorithm& algorithm) {
    return algorithm.needs.all_counts && hides_counts(algorithm.collective);
}

std::size_t scratch_bytes(const Program& program, const Arrangement& arrangement) {
    return static_cast<std::size_t>(program.scratch_units * arrangement.operands.stride_bytes);
}

void set_scratch_limit(std::int64_t bytes) {
    scratch_limit_bytes.store(bytes);
}

void set_network(std::shared_ptr<const model::Network> instance) {
    network() = std::move(instance);
}

}  // namespace lanewise::collectives
