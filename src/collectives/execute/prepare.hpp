// SPDX-License-Identifier: BSD-3-Clause
//
// Prepare: from a call to the program that executes it. A call is first arranged in the terms of
// schedules. Data that is only moved becomes bytes. They are in the caller's own buffers if the
// type is plain; otherwise they are packed into memory of ours and unpacked at the end, so that
// ranks may describe the same bytes by different types. Data that is reduced stays in elements of
// the caller's type. With MPI_IN_PLACE two buffers are one. Then the schedule is built and
// compiled, or the call is found not to be served, which depends only on what every rank knows.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/execute/call.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "collectives/execute/datatype.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/* One of the caller's buffers: one block, or a block for each rank or neighbor. */
struct Side {
    std::byte *buffer = nullptr; /* may be null and yet used: MPI_BOTTOM */
    std::int64_t count = 0;      /* elements of a block, where counts is null */
    MPI_Datatype type = MPI_DATATYPE_NULL;
    bool each_rank = false; /* blocks for all ranks rather than the own one */
    int blocks = 1;
    std::span<const int> neighbors = {}; /* of whom the blocks are; else empty */
    Numbers counts = {};
    Numbers displacements = {};
    Types types = {}; /* of each block, whose displacements are then in bytes */
    TypeLayout layout = {};
    std::vector<TypeLayout> layouts = {}; /* with types; `layout` says whether all are plain */
    bool is_overwritten = false;          /* before it is sent, so that it is packed in any case */

    bool absent() const { return type == MPI_DATATYPE_NULL && !types; }
    std::int64_t count_of(int r) const {
        if (is_of_nobody(r)) return 0;
        return counts ? counts[r] : count;
    }
    MPI_Datatype type_of(int r) const { return types ? types[r] : type; }
    const TypeLayout& layout_of_block(int r) const {
        return types ? layouts[static_cast<std::size_t>(r)] : layout;
    }
    std::int64_t bytes_of(int r) const { return count_of(r) * layout_of_block(r).size; }
    /* Where block r begins in the caller's memory. */
    std::int64_t place_bytes(int r) const {
        if (types) return displacements[r];
        return (displacements ? displacements[r] : count * r) * layout.extent;
    }
    std::byte *block(int r) const { return buffer + place_bytes(r); }
    bool is_of_nobody(int r) const {
        return !neighbors.empty() && neighbors[static_cast<std::size_t>(r)] < 0;
    }
};

/* The two buffers of a call that moves data, by what is significant on this rank. */
struct Sides {
    Side send;
    Side receive;
    bool send_in_place = false;
    bool receive_in_place = false;
};

struct Arrangement {
    Operands operands;
    Sides sides;                 /* of a call that moves data */
    std::int64_t count = 0;      /* units, as in CallShape */
    std::int64_t unit_bytes = 1; /* of data; operands.stride_bytes lie between units */
    /* In an uneven exchange or a neighborhood of what is received, then of what is sent. */
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> offsets;
    std::vector<std::byte> packed[2];     /* by model::Place::send, ::receive */
    Side unpacked;                        /* where the latter goes at the end; absent: nowhere */
    std::int64_t scratch_shift_bytes = 0; /* an element's data may begin off its origin */
    std::int64_t scratch_units_apart = 0; /* and reach over those behind it */

    std::vector<std::byte>& packed_of(model::Place place) {
        return packed[static_cast<std::size_t>(place)];
    }
    const std::vector<std::byte>& packed_of(model::Place place) const {
        return packed[static_cast<std::size_t>(place)];
    }

    Arrangement() = default;
    Arrangement(Arrangement&&) = default;
    Arrangement(const Arrangement&) = delete;
};

/* Describes the call; nothing is packed yet. */
void arrange(const Call& call, const CommunicatorState& state, Arrangement& arrangement);

/* How much memory `pack_input` takes. */
std::int64_t packing_bytes(const Call& call, const CommunicatorState& state,
                           const Arrangement& arrangement);

/* Packs what this rank has to, and sets the buffers of the operands, which have their communicator
   and tag already. An MPI error code; where there is no memory, that. */
int pack_input(const Call& call, const CommunicatorState& state, Arrangement& arrangement);

/*
 * Whether packing exceeds the limit on memory on no rank. The ranks ask one another where all of
 * them know that it might: none knows the datatypes of the others. Not known at all, and not asked:
 * where ranks know only their own counts.
 */
bool packing_fits(const Call& call, const CommunicatorState& state, const Arrangement& arrangement,
                  bool& asked);

/* After the schedule: hands packed data to the caller. An MPI error code. */
int unpack_result(const Arrangement& arrangement);

/* The call without the arguments that are not significant on this rank and may be anything. */
Call significant(Call call, const CommunicatorState& state);

/* How many elements the arrays of a call have that describe blocks. */
int received_blocks(const Call& call, const CommunicatorState& state);
int sent_blocks(const Call& call, const CommunicatorState& state);

/* Whether the algorithm's restrictions allow this call. */
bool admits(const Algorithm& algorithm, const Call& call, const CommunicatorState& state);

/* The program of this call, built now or kept from before; null if it would need too much memory.
 */
const KeptProgram& program_for(const Choice& choice, const Call& call, CommunicatorState& state,
                               const Arrangement& arrangement);

/* Whether the root of a v-collective must first share the counts that only it knows. */
bool shares_counts(const Algorithm& algorithm);

std::size_t scratch_bytes(const Program& program, const Arrangement& arrangement);

/* Largest scratch and packing memory a call may take on one rank; calls that need more are not
   served. */
void set_scratch_limit(std::int64_t bytes);

/* What a platform-aware algorithm sees; read once, the same on every rank. May be null. */
void set_network(std::shared_ptr<const model::Network> network);

}  // namespace lanewise::collectives
