// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/prepare.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace lanewise::collectives {
namespace {

std::atomic<std::int64_t> scratch_limit_bytes{std::int64_t{256} << 20};

std::shared_ptr<const model::Network>& network() {
    static std::shared_ptr<const model::Network> instance;
    return instance;
}

bool is_reduction(const Algorithm& algorithm) {
    const auto collective = algorithm.collective;
    return collective == Collective::reduce || collective == Collective::allreduce ||
           collective == Collective::reduce_scatter;
}

Shape shape_of(const Choice& choice, const Call& call, const CommunicatorState& state,
               const Arrangement& arrangement) {
    Shape shape{.ranks = state.ranks,
                .rank = state.rank,
                .root = call.root,
                .count = arrangement.count,
                .counts = arrangement.counts,
                .offsets = arrangement.offsets,
                .unit_bytes = arrangement.unit_bytes,
                .lanes = choice.lanes};
    const auto unit = std::max<std::int64_t>(1, arrangement.unit_bytes);
    if (choice.segment_bytes > 0)
        shape.segment = std::max<std::int64_t>(1, choice.segment_bytes / unit);
    shape.hosts = state.placement.hosts;
    shape.sites = state.placement.sites;
    shape.network = network().get();
    return shape;
}

/*
 * Whether no rank's scratch memory exceeds the limit, with the same answer on every rank: where a
 * bound that all of them know does not decide it, the schedules of all ranks are built. In a
 * v-collective in which ranks know only their own count they keep nothing for others.
 */
bool fits(const Algorithm& algorithm, Shape shape) {
    const auto limit = scratch_limit_bytes.load(std::memory_order_relaxed);
    const bool rooted_v =
        algorithm.collective == Collective::scatterv || algorithm.collective == Collective::gatherv;
    if (rooted_v && !algorithm.needs.all_counts) return true;
    std::int64_t total = shape.count * shape.ranks;
    if (!shape.counts.empty()) {
        total = 0;
        for (const auto count : shape.counts) total += count;
    }
    if (2 * total * shape.unit_bytes <= limit) return true;
    // Where the root's blocks lie is the root's own knowledge.
    shape.offsets = {};
    constexpr int ranks_examined = 1024;
    if (shape.ranks > ranks_examined) return false;
    for (shape.rank = 0; shape.rank < shape.ranks; ++shape.rank) {
        if (algorithm.build(shape).scratch_units * shape.unit_bytes > limit) return false;
    }
    return true;
}

}  // namespace

Call significant(Call call, const CommunicatorState& state) {
    if (state.rank == call.root) return call;
    switch (call.collective) {
        case Collective::scatter:
        case Collective::scatterv:
            call.send = nullptr;
            call.send_count = 0;
            call.send_type = MPI_DATATYPE_NULL;
            call.counts = call.displacements = {};
            return call;
        case Collective::gather:
        case Collective::gatherv:
            call.receive = nullptr;
            call.receive_count = 0;
            call.receive_type = MPI_DATATYPE_NULL;
            call.counts = call.displacements = {};
            return call;
        default:
            return call;
    }
}

bool admits(const Algorithm& algorithm, const Call& call, const CommunicatorState& state) {
    // Elements that run backwards through memory have no place in scratch.
    if (is_reduction(algorithm) && layout_of(call.receive_type).extent <= 0) return false;
    CallTraits traits{.ranks = state.ranks,
                      .platform = network() != nullptr,
                      .sites = state.placement.site_count() > 1};
    if (algorithm.needs.commutative && is_reduction(algorithm)) {
        int commutes = 0;
        PMPI_Op_commutative(call.op, &commutes);
        traits.commutative = commutes != 0;
    }
    return refusal(algorithm, traits).empty();
}

const KeptProgram& program_for(const Choice& choice, const Call& call, CommunicatorState& state,
                               const Arrangement& arrangement) {
    const ProgramKey key{.algorithm = choice.algorithm,
                         .root = call.root,
                         .lanes = choice.lanes,
                         .count = arrangement.count,
                         .unit_bytes = arrangement.unit_bytes,
                         .stride_bytes = arrangement.operands.stride_bytes,
                         .segment = choice.segment_bytes};
    if (const auto *kept = state.find(key, arrangement.counts, arrangement.offsets)) return *kept;
    const Shape shape = shape_of(choice, call, state, arrangement);
    KeptProgram made{key, arrangement.counts, arrangement.offsets, nullptr};
    if (fits(*choice.algorithm, shape)) {
        const auto schedule = choice.algorithm->build(shape);
        made.program = std::make_shared<const Program>(
            compile(schedule, key.stride_bytes, std::max<std::int64_t>(1, key.unit_bytes)));
    }
    return state.keep(std::move(made));
}

bool shares_counts(const Algorithm& algorithm) {
    return algorithm.needs.all_counts && (algorithm.collective == Collective::scatterv ||
                                          algorithm.collective == Collective::gatherv);
}

std::size_t scratch_bytes(const Program& program, const Arrangement& arrangement) {
    if (program.scratch_units == 0) return 0;
    return static_cast<std::size_t>(program.scratch_units * arrangement.operands.stride_bytes +
                                    arrangement.scratch_tail_bytes);
}

void set_scratch_limit(std::int64_t bytes) {
    scratch_limit_bytes.store(bytes);
}

void set_network(std::shared_ptr<const model::Network> instance) {
    network() = std::move(instance);
}

}  // namespace lanewise::collectives
