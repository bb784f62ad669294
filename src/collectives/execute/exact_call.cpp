// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/exact_call.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "collectives/blocks.hpp"
#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/datatype.hpp"
#include "collectives/scratch_bound.hpp"
#include "sums/mpi/exact_reduction.hpp"
#include "sums/mpi/f90_types.hpp"

namespace lanewise::collectives {
namespace {

/* Integers, truth values, and pairs of integers. */
bool holds_integers(MPI_Datatype type) {
    const MPI_Datatype known[] = {MPI_BYTE,           MPI_CHAR,
                                  MPI_SIGNED_CHAR,    MPI_UNSIGNED_CHAR,
                                  MPI_WCHAR,          MPI_SHORT,
                                  MPI_UNSIGNED_SHORT, MPI_INT,
                                  MPI_UNSIGNED,       MPI_LONG,
                                  MPI_UNSIGNED_LONG,  MPI_LONG_LONG,
                                  MPI_INT8_T,         MPI_UNSIGNED_LONG_LONG,
                                  MPI_INT16_T,        MPI_INT32_T,
                                  MPI_INT64_T,        MPI_UINT8_T,
                                  MPI_UINT16_T,       MPI_UINT32_T,
                                  MPI_UINT64_T,       MPI_AINT,
                                  MPI_COUNT,          MPI_OFFSET,
                                  MPI_C_BOOL,         MPI_CXX_BOOL,
                                  MPI_CHARACTER,      MPI_LOGICAL,
                                  MPI_INTEGER,        MPI_INTEGER1,
                                  MPI_INTEGER2,       MPI_INTEGER4,
                                  MPI_INTEGER8,       MPI_2INT,
                                  MPI_SHORT_INT,      MPI_LONG_INT,
                                  MPI_2INTEGER};
    return is_one_of(type, known);
}

/* A maximum or minimum that sums/combine takes, whatever the order. */
bool is_extreme(const Call& call) {
    const auto combining = sums::combining_of(call.op, call.receive_type);
    return combining == sums::Combining::maximum || combining == sums::Combining::minimum;
}

/* Each part is rounded more than once. */
bool is_complex_product(const Call& call) {
    return sums::combining_of(call.op, call.receive_type) == sums::Combining::product &&
           sums::numbers_of(call.receive_type)->per_element == 2;
}

/* Of all ranks, by an operation that reduce_exactly knows. */
bool can_be_exact(const Call& call) {
    const bool known = call.collective == Collective::reduce ||
                       call.collective == Collective::allreduce ||
                       call.collective == Collective::reduce_scatter;
    return known && sums::combining_of(call.op, call.receive_type).has_value();
}

int scatter_exactly(const Call& call, sums::Numbers numbers, sums::Combining combining,
                    const CommunicatorState& state) {
    sums::Scattered blocks;
    for (int rank = 0; rank < state.ranks; ++rank) {
        const std::int64_t count = call.counts ? call.counts[rank] : call.receive_count;
        if (rank < state.rank) blocks.before += count;
        if (rank == state.rank) blocks.own = count;
        blocks.all += count;
    }
    return sums::exact_reduce_scatter(call.send, call.receive, blocks, numbers, combining,
                                      state.duplicate);
}

}  // namespace

bool depends_on_order(const Call& call) {
    for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR}) {
        if (call.op == op) return false;
    }
    if (!is_predefined_op(call.op)) return true;
    return !holds_integers(call.receive_type) &&
           sums::f90_kind_of(call.receive_type) != sums::F90Kind::integer;
}

RankFree rank_free(const Call& call, int ranks) {
    if (!depends_on_order(call)) return RankFree::in_any_way;
    const bool extreme = is_extreme(call);
    // One operation is rounded once: over two ranks it is exact by itself, and a maximum over any
    // number of them. One rank combines nothing, but a NaN and a zero become what they do on more.
    const bool exact_by_itself =
        (ranks == 2 && !is_complex_product(call)) || (ranks > 1 && extreme);
    if (can_be_exact(call)) return exact_by_itself ? RankFree::in_any_way : RankFree::exactly;
    return extreme ? RankFree::in_any_way : RankFree::no;
}

int reduce_exactly(const Call& call, CommunicatorState& state) {
    const int prepared = prepare_to_execute(state, call.comm);
    if (prepared != MPI_SUCCESS) return prepared;
    const auto numbers = *sums::numbers_of(call.receive_type);
    const auto combining = *sums::combining_of(call.op, call.receive_type);
    if (call.collective == Collective::reduce_scatter) {
        return scatter_exactly(call, numbers, combining, state);
    }
    if (call.collective == Collective::allreduce) {
        return sums::exact_allreduce(call.send, call.receive, call.receive_count, numbers,
                                     combining, state.duplicate);
    }
    return sums::exact_reduce(call.send, call.receive, call.receive_count, numbers, combining,
                              call.root, state.duplicate);
}

namespace {

/* What a rank gets the result of. */
struct Part {
    std::int64_t begin = 0;
    std::int64_t count = 0;
};

/* Sends each rank its part of the own vector, and takes those of the own part from all others, in
   the order of ranks. */
template <typename PartOf>
model::Schedule collect(const CallShape& shape, const PartOf& part_of) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto own = part_of(me);
    std::vector<model::Slice> places;
    for (int rank = 0; rank < n; ++rank) {
        places.push_back(rank == me ? model::Slice{} : steps.scratch(own.count));
    }
    // Nearest first, so that no rank is the first or the last one of all others.
    for (int distance = 1; distance < n; ++distance) {
        const int from = (me - distance + n) % n;
        steps.receive(from, places[static_cast<std::size_t>(from)], own.count);
    }
    for (int distance = 1; distance < n; ++distance) {
        const int to = (me + distance) % n;
        const auto part = part_of(to);
        steps.send(to, {model::Place::send, part.begin}, part.count);
    }
    return steps.finish();
}

model::Schedule collect_everywhere(const CallShape& shape) {
    return collect(shape, [&](int) { return Part{0, shape.count}; });
}

model::Schedule collect_at_root(const CallShape& shape) {
    return collect(shape, [&](int rank) { return Part{0, rank == shape.root ? shape.count : 0}; });
}

model::Schedule collect_blocks(const CallShape& shape) {
    const Bounds bounds(shape, {.ranks = shape.ranks});
    return collect(shape, [&](int rank) { return Part{bounds[rank], bounds.size(rank)}; });
}

constexpr Algorithm collecting_for(Collective collective,
                                   model::Schedule (*build)(const CallShape&),
                                   std::int64_t (*scratch_units_max)(const CallShape&)) {
    return {.collective = collective,
            .name = "linear_nb",
            .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
            .cost = "a+(n-1)(b+g)M",
            .needs = {},
            .build = build,
            .scratch_units_max = scratch_units_max,
            .posts_at_once = true};
}

constexpr std::array collecting_algorithms = {
    collecting_for(Collective::reduce, collect_at_root, vector_of_all_ranks),
    collecting_for(Collective::allreduce, collect_everywhere, vector_of_all_ranks),
    collecting_for(Collective::reduce_scatter, collect_blocks, block_of_all_ranks),
};

}  // namespace

const Algorithm *collecting(Collective collective) {
    const auto *found =
        std::ranges::find(collecting_algorithms, collective, &Algorithm::collective);
    return found != collecting_algorithms.end() ? found : nullptr;
}

bool is_collecting(const Algorithm *algorithm) {
    return algorithm == collecting(algorithm->collective);
}

int combine_collected(const Operands& operands, const std::byte *own, std::int64_t count,
                      int ranks) {
    const auto numbers = *sums::numbers_of(operands.type);
    const auto combining = *sums::combining_of(operands.op, operands.type);
    std::vector<const void *> vectors;
    try {
        vectors.reserve(static_cast<std::size_t>(ranks));
    } catch (const std::bad_alloc&) {
        return MPI_ERR_NO_MEM;
    }
    const std::byte *next = operands.at(model::Place::scratch);
    for (int rank = 0; rank < ranks; ++rank) {
        vectors.push_back(rank == operands.rank ? own : next);
        if (rank != operands.rank) next += count * operands.stride_bytes;
    }
    return sums::combine_exactly(vectors, count, numbers, combining,
                                 operands.at(model::Place::receive));
}

}  // namespace lanewise::collectives
