// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/same_bits.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <set>
#include <string>

#include "base/launcher.hpp"
#include "collectives/balanced_choice.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/environment.hpp"
#include "sums/mpi/exact_reduction.hpp"

namespace lanewise::tuned {

using namespace collectives;

namespace {

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

int reduce_exactly(const Call& call, const CommunicatorState& state) {
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
    return std::ranges::find(known, type) != std::end(known);
}

/* Whether the order of operands can be seen in the result. That of maxima and minima shows where a
   NaN or zeros of both signs are among the operands. What is not known here may show it. */
bool depends_on_order(const Call& call) {
    for (const MPI_Op op : {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR}) {
        if (call.op == op) return false;
    }
    return !is_predefined_op(call.op) || !holds_integers(call.receive_type);
}

/* Each sentence once. */
void say_once(const std::string& sentence) {
    static std::mutex lock;
    static std::set<std::string> said;
    const std::lock_guard guard(lock);
    if (said.insert(sentence).second && is_first_process()) say(sentence);
}

/* A maximum or minimum that sums/combine takes, whatever the order. */
bool is_extreme(const Call& call) {
    const auto combining = sums::combining_of(call.op, call.receive_type);
    return combining == sums::Combining::maximum || combining == sums::Combining::minimum;
}

/* Of all ranks, by an operation that reduce_exactly knows. */
bool can_be_exact(const Call& call) {
    const bool known = call.collective == Collective::reduce ||
                       call.collective == Collective::allreduce ||
                       call.collective == Collective::reduce_scatter;
    const auto combining = sums::combining_of(call.op, call.receive_type);
    return known && combining && sums::has_exact(*combining, *sums::numbers_of(call.receive_type));
}

}  // namespace

/* Whether it combines in the one order, and the MPI lets it go on. */
bool serves(const Algorithm *algorithm, Operation operation) {
    if (!algorithm || algorithm->bracketing != Bracketing::balanced) return false;
    return operation.calling == Calling::blocking || can_be_requested(*algorithm);
}

const Algorithm *algorithm_in_order(const CachedCall& decided) {
    const auto operation = decided.operation;
    const auto *chosen = balanced_choice(operation, decided.state->ranks, decided.message_bytes);
    return serves(chosen, operation) ? chosen : find_algorithm(operation.collective, "linear_nb");
}

void keep_bits(CachedCall& decided, const Call& call, SameBits wanted) {
    if (!is_reduction(call.collective) || !depends_on_order(call)) return;
    const int ranks = decided.state->ranks;
    const bool exact = wanted == SameBits::ranks && can_be_exact(call);
    // One operation is rounded once: over two ranks it is exact by itself, and a maximum over any
    // number of them. One rank combines nothing, but a NaN and a zero become what they do on more.
    const bool exact_by_itself = ranks == 2 || (ranks > 1 && is_extreme(call));
    decided.reduces_exactly = exact && !exact_by_itself &&
                              decided.operation.calling == Calling::blocking &&
                              !is_scan(call.collective);
    if (decided.reduces_exactly || ranks < 2) return;
    const bool keeps_bits = is_extreme(call) || (exact && exact_by_itself);
    if (wanted == SameBits::ranks && !keeps_bits) {
        say_once("calls of " + name_of(decided.operation) +
                 " keep their bits on one number of ranks only");
    }
    if (!serves(decided.choice.algorithm, decided.operation)) {
        decided.rule = nullptr;
        decided.choice = {algorithm_in_order(decided)};
    }
    decided.choice.same_bits = wanted;
    if (!decided.choice.algorithm) say_what_may_differ(decided.operation, call);
}

int execute_exactly(const Call& call, CommunicatorState& state) {
    const int prepared = prepare_to_execute(state, call.comm);
    if (prepared != MPI_SUCCESS) return prepared;
    return reduce_exactly(call, state);
}

void say_what_may_differ(Operation operation, const Call& call) {
    if (!is_reduction(call.collective) || !depends_on_order(call)) return;
    say_once("calls of " + name_of(operation) + " are left to the MPI: their bits may differ");
}

void say_what_persistent_may_differ(const Call& call) {
    if (environment().same_bits == SameBits::unasked) return;
    if (!is_reduction(call.collective) || !depends_on_order(call)) return;
    int ranks = 1;
    if (PMPI_Comm_size(call.comm, &ranks) != MPI_SUCCESS || ranks < 2) return;
    say_once("persistent calls of " + std::string(name_of(call.collective)) +
             " are left to the MPI: their bits may differ");
}

}  // namespace lanewise::tuned
