// SPDX-License-Identifier: BSD-3-Clause
//
// The collective functions of the C API: arguments become a Call, an MPI error
// becomes a status.

#include <lanewise/collectives.h>
#include <lanewise/fortran.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/quantities.hpp"
#include "collectives/balanced_choice.hpp"
#include "collectives/execute/exact_call.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/execute/usable_counts.hpp"

/* One algorithm, or for each call the one in the balanced bracketing that suits it. */
struct lw_algorithm {
    lanewise::collectives::Collective collective;
    lanewise::collectives::Choice choice; /* no algorithm: is chosen for each call */
    lw_report_fn report = nullptr;
    void *report_context = nullptr;
};

struct lw_pending {
    lanewise::collectives::PendingCall call;
};

namespace {

using lanewise::collectives::algorithms;
using lanewise::collectives::Bracketing;
using lanewise::collectives::Call;
using lanewise::collectives::Calling;
using lanewise::collectives::Choice;
using lanewise::collectives::Collective;
using lanewise::collectives::name_of;
using lanewise::collectives::RankFree;
using lanewise::collectives::SameBits;

lw_status status_of(int code, bool served) {
    if (code != MPI_SUCCESS) return code == MPI_ERR_NO_MEM ? LW_ERR_MEMORY : LW_ERR_MPI;
    return served ? LW_OK : LW_ERR_UNSUPPORTED;
}

/* No exception crosses the border; the library itself throws only that of memory. */
template <typename Act>
lw_status at_border(const Act& act) {
    try {
        return act();
    } catch (const std::bad_alloc&) {
        return LW_ERR_MEMORY;
    } catch (...) {
        return LW_ERR_MPI;
    }
}

/* Why something is refused; empty where it is not. */
struct Refusal {
    lw_status status = LW_OK;
    std::string sentence;
};

/* Tells of a failure, by the text of its status where it has no sentence of its own. Outside of
   at_border: the report is a function of the program, and what it throws is not the call's. */
lw_status tell(lw_report_fn report, void *context, lw_status status, const char *sentence) {
    if (status != LW_OK && report) {
        report(context, status, *sentence ? sentence : lw_status_text(status));
    }
    return status;
}

lw_status tell(const lw_algorithm& algorithm, lw_status status, const char *sentence) {
    return tell(algorithm.report, algorithm.report_context, status, sentence);
}

/* A vector that every rank has has a type on every rank. */
bool has_types(const Call& call) {
    const bool is_vector = call.collective == Collective::bcast ||
                           lanewise::collectives::is_reduction(call.collective);
    return !is_vector || call.receive_type != MPI_DATATYPE_NULL;
}

Refusal unusable(std::string sentence) {
    return {LW_ERR_ARGUMENT, std::move(sentence)};
}

/* Why the call cannot be made on this rank. */
Refusal refusal_of_call(const Call& call, const lw_algorithm& algorithm) {
    if (call.comm == MPI_COMM_NULL)
        return unusable("the communicator is MPI_COMM_NULL; call only on the ranks that are in it");
    int between_groups = 0;
    int rank = 0;
    int ranks = 0;
    if (PMPI_Comm_test_inter(call.comm, &between_groups) != MPI_SUCCESS ||
        PMPI_Comm_rank(call.comm, &rank) != MPI_SUCCESS ||
        PMPI_Comm_size(call.comm, &ranks) != MPI_SUCCESS) {
        return unusable("the communicator cannot be used; give one that is not freed");
    }
    if (between_groups) {
        return unusable("intercommunicators are not served; use the function of the MPI");
    }
    if (algorithm.collective != call.collective) {
        return unusable(std::string("the algorithm is one of ") + name_of(algorithm.collective) +
                        "; make one of " + name_of(call.collective));
    }
    if (is_rooted(call.collective) && (call.root < 0 || call.root >= ranks)) {
        return unusable("root " + std::to_string(call.root) + " is outside the communicator of " +
                        lanewise::counted(static_cast<std::uint64_t>(ranks), "rank") +
                        "; ranks count from 0");
    }
    const auto *fault = has_types(call) ? lanewise::collectives::fault_of_counts(call, rank, ranks)
                                        : "MPI_DATATYPE_NULL as the datatype";
    if (fault) return unusable("rank " + std::to_string(rank) + " gives " + fault);
    return {};
}

/* Of a reduce_scatter, whose counts may differ, the size does not matter. */
std::uint64_t bytes_of(const Call& call) {
    MPI_Count unit_bytes = 0;
    if (PMPI_Type_size_x(call.receive_type, &unit_bytes) != MPI_SUCCESS || unit_bytes < 0) return 0;
    return static_cast<std::uint64_t>(call.receive_count) * static_cast<std::uint64_t>(unit_bytes);
}

/* Why a call is not served, and what to do, as one sentence. */
std::string why_not_served(const Call& call, const lw_algorithm& algorithm) {
    using namespace lanewise::collectives;
    const auto *state = state_of(call.comm);
    if (state && state->is_left_to_mpi) {
        return "calls are executed on at most " + std::to_string(duplicates_max) +
               " communicators at a time; free some, or use the function of the MPI";
    }
    const bool on_any_ranks = algorithm.choice.same_bits == SameBits::ranks;
    if (on_any_ranks && rank_free(call, 1) == RankFree::no) {
        if (is_scan(call.collective)) {
            return "LW_BITS_RANKS knows only maxima, minima and integers in a scan; use "
                   "LW_BITS_ORDER";
        }
        return "LW_BITS_RANKS knows sums and products of doubles, floats and their complex types, "
               "maxima, minima and integers; use LW_BITS_ORDER";
    }
    return "the algorithm cannot serve this operator, number of ranks or size; take another one, "
           "or the function of the MPI";
}

/* All ranks refuse what is not served, and one tells. */
bool tells_what_is_not_served(MPI_Comm comm) {
    int rank = 0;
    return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == 0;
}

/* Runs `act`, which returns a status, where the call can be made, and tells of every failure. */
template <typename Act>
lw_status serve(const Call& call, const lw_algorithm *algorithm, const Act& act) {
    if (!algorithm) return LW_ERR_ARGUMENT;
    Refusal refused;
    const auto status = at_border([&] {
        refused = refusal_of_call(call, *algorithm);
        return refused.status == LW_OK ? act() : refused.status;
    });
    if (status == LW_ERR_UNSUPPORTED) {
        if (!tells_what_is_not_served(call.comm)) return status;
        // The status is that of all ranks, also where this one has no memory left to explain it.
        (void)at_border([&] {
            refused.sentence = why_not_served(call, *algorithm);
            return LW_OK;
        });
    }
    return tell(*algorithm, status, refused.sentence.c_str());
}

/* How a call is carried out. No algorithm: exactly, or, where it is refused, not at all. */
struct Decision {
    Choice choice;
    bool exactly = false;
};

Decision decide(const Call& call, const lw_algorithm& algorithm, Calling calling) {
    Choice choice = algorithm.choice;
    if (choice.algorithm) return {choice};
    int ranks = 1;
    PMPI_Comm_size(call.comm, &ranks);
    if (choice.same_bits == SameBits::ranks) {
        const auto how = lanewise::collectives::rank_free(call, ranks);
        if (how == RankFree::no) return {};
        if (how == RankFree::exactly) {
            if (calling == Calling::blocking) return {.choice = {}, .exactly = true};
            choice.algorithm = lanewise::collectives::collecting(call.collective);
            return {choice};
        }
    }
    choice.algorithm =
        lanewise::collectives::balanced_choice({call.collective, calling}, ranks, bytes_of(call));
    return {choice};
}

lw_status reduce_exactly(const Call& call) {
    auto *state = lanewise::collectives::state_for(call.collective, call.comm);
    if (!state) return LW_ERR_MPI;
    const int prepared = lanewise::collectives::prepare_to_execute(*state, call.comm);
    if (prepared != MPI_SUCCESS || state->is_left_to_mpi) return status_of(prepared, false);
    return status_of(lanewise::collectives::reduce_exactly(call, *state), true);
}

lw_status carry_out(const Call& call, const lw_algorithm *algorithm) {
    return serve(call, algorithm, [&] {
        const auto decided = decide(call, *algorithm, Calling::blocking);
        if (decided.exactly) return reduce_exactly(call);
        if (!decided.choice.algorithm) return LW_ERR_UNSUPPORTED;
        bool served = false;
        const int code = lanewise::collectives::execute(call, decided.choice, served);
        return status_of(code, served);
    });
}

lw_status begin(const Call& call, const lw_algorithm *algorithm, lw_pending **pending) {
    if (algorithm && !pending) return tell(*algorithm, LW_ERR_ARGUMENT, "pending must not be NULL");
    return serve(call, algorithm, [&] {
        const auto decided = decide(call, *algorithm, Calling::nonblocking);
        if (!decided.choice.algorithm) return LW_ERR_UNSUPPORTED;
        bool served = false;
        auto made = std::make_unique<lw_pending>();
        const int code = lanewise::collectives::start(call, decided.choice, served, made->call);
        const auto begun = status_of(code, served);
        if (begun == LW_OK) *pending = made.release();
        return begun;
    });
}

Call bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    return {.collective = Collective::bcast,
            .receive = buffer,
            .receive_count = count,
            .receive_type = type,
            .root = root,
            .comm = comm};
}

/* Scatter, gather, allgather, alltoall, and their v-forms with `counts` in place of one count. */
Call move(Collective collective, const void *send, int send_count, MPI_Datatype send_type,
          void *receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
          const int *counts = nullptr, const int *displacements = nullptr) {
    return {.collective = collective,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .receive = receive,
            .receive_count = receive_count,
            .receive_type = receive_type,
            .counts = counts,
            .displacements = displacements,
            .root = root,
            .comm = comm};
}

Call reduction(Collective collective, const void *send, void *receive, int count, MPI_Datatype type,
               MPI_Op op, int root, MPI_Comm comm) {
    return {.collective = collective,
            .send = send,
            .receive = receive,
            .receive_count = count,
            .receive_type = type,
            .op = op,
            .root = root,
            .comm = comm};
}

/* Options of a program that was compiled before the last members were there have their defaults;
   none: not understood. */
std::optional<lw_algorithm_options> options_from(const lw_algorithm_options *given) {
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    if (!given) return options;
    constexpr std::size_t first_bytes = offsetof(lw_algorithm_options, report);
    if (given->struct_size != first_bytes && given->struct_size != sizeof options) {
        return std::nullopt;
    }
    std::memcpy(&options, given, given->struct_size);
    return options;
}

Refusal refusal_of_options(const lw_algorithm_options& options, const char *name) {
    const bool known = options.bits == LW_BITS_ANY || options.bits == LW_BITS_ORDER ||
                       options.bits == LW_BITS_RANKS;
    if (!known) {
        return {LW_ERR_ARGUMENT, "bits is " + std::to_string(static_cast<int>(options.bits)) +
                                     "; say LW_BITS_ANY, LW_BITS_ORDER or LW_BITS_RANKS"};
    }
    if (options.segment_bytes > INT64_MAX) {
        return {LW_ERR_ARGUMENT, "segment_bytes is " + std::to_string(options.segment_bytes) +
                                     "; say less than 2^63"};
    }
    if (!name && options.bits == LW_BITS_ANY) {
        return {LW_ERR_ARGUMENT,
                "no algorithm is named; name one, or ask for LW_BITS_ORDER or LW_BITS_RANKS"};
    }
    if (options.bits == LW_BITS_RANKS && (name || options.segment_bytes > 0)) {
        return {LW_ERR_UNSUPPORTED,
                "with LW_BITS_RANKS the library chooses the algorithm and its "
                "segments; name none"};
    }
    return {};
}

Refusal refusal_of_name(Collective collective, const char *name, lw_bits bits) {
    using lanewise::collectives::find_algorithm;
    const auto *found = name ? find_algorithm(collective, name) : nullptr;
    const std::string where = name_of(collective);
    if (name && !found) {
        return {LW_ERR_NOT_FOUND,
                where + " has no algorithm " + name + "; lw_algorithm_name lists them"};
    }
    if (bits == LW_BITS_ANY) return {};
    if (!is_reduction(collective)) {
        return {LW_ERR_UNSUPPORTED,
                where + " combines nothing, so its bits are the same anyway; ask for LW_BITS_ANY"};
    }
    if (found && found->bracketing != Bracketing::balanced) {
        return {LW_ERR_UNSUPPORTED, where + " by " + name +
                                        " combines in another order; name an algorithm that "
                                        "docs/same-bits.md lists, or none"};
    }
    return {};
}

Refusal refusal_of_making(const char *collective, std::optional<Collective> which, const char *name,
                          const lw_algorithm_options& options, lw_algorithm **algorithm) {
    if (!collective) return unusable("collective must not be NULL");
    if (!algorithm) return unusable("algorithm must not be NULL");
    auto refused = refusal_of_options(options, name);
    if (refused.status != LW_OK) return refused;
    if (which) return refusal_of_name(*which, name, options.bits);
    return {LW_ERR_NOT_FOUND, std::string("no collective is called ") + collective +
                                  "; lw_algorithm_collective lists them"};
}

SameBits level_of(lw_bits bits) {
    switch (bits) {
        case LW_BITS_ORDER: return SameBits::order;
        case LW_BITS_RANKS: return SameBits::ranks;
        default: return SameBits::unasked;
    }
}

/* The call that Fortran describes; none where it is not one. */
std::optional<Call> translated(const char *name, const lw_fortran_call *call) {
    if (!name || !call || call->struct_size != sizeof *call) return std::nullopt;
    const auto collective = lanewise::collectives::collective_named(name);
    // Fortran gives one side's blocks only, and the C interface has no neighborhood collectives.
    if (!collective || is_uneven_exchange(*collective) || is_neighborhood(*collective)) {
        return std::nullopt;
    }
    return Call{.collective = *collective,
                .send = call->send,
                .send_count = call->send_count,
                .send_type = MPI_Type_f2c(call->send_type),
                .receive = call->receive,
                .receive_count = call->receive_count,
                .receive_type = MPI_Type_f2c(call->receive_type),
                .counts = call->counts,
                .displacements = call->displacements,
                .op = MPI_Op_f2c(call->op),
                .root = call->root,
                .comm = MPI_Comm_f2c(call->comm)};
}

/* The module of Fortran sets the size of a call to 0 where a buffer has gaps. */
lw_status refuse_translation(const lw_fortran_call *call, const lw_algorithm *algorithm) {
    if (!algorithm) return LW_ERR_ARGUMENT;
    const bool has_gaps = call && call->struct_size == 0;
    return tell(
        *algorithm, LW_ERR_ARGUMENT,
        has_gaps ? "a buffer is a section with gaps; pass a copy, or the array and a derived type"
                 : "");
}

}  // namespace

lw_status lw_algorithm_named(const char *collective, const char *name, uint64_t segment_bytes,
                             lw_algorithm **algorithm) {
    if (!name) return LW_ERR_ARGUMENT;
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.segment_bytes = segment_bytes;
    return lw_algorithm_with(collective, name, &options, algorithm);
}

lw_status lw_algorithm_with(const char *collective, const char *name,
                            const lw_algorithm_options *given, lw_algorithm **algorithm) {
    const auto options = options_from(given);
    if (!options) return LW_ERR_ARGUMENT;
    Refusal refused;
    const auto status = at_border([&] {
        const auto which = collective ? lanewise::collectives::collective_named(collective)
                                      : std::optional<Collective>();
        refused = refusal_of_making(collective, which, name, *options, algorithm);
        if (refused.status != LW_OK) return refused.status;
        const Choice choice{
            .algorithm = name ? lanewise::collectives::find_algorithm(*which, name) : nullptr,
            .segment_bytes = static_cast<std::int64_t>(options->segment_bytes),
            .same_bits = level_of(options->bits)};
        *algorithm = new lw_algorithm{*which, choice, options->report, options->report_context};
        return LW_OK;
    });
    return tell(options->report, options->report_context, status, refused.sentence.c_str());
}

void lw_algorithm_free(lw_algorithm *algorithm) {
    delete algorithm;
}

const char *lw_algorithm_collective(size_t index) {
    return index < algorithms().size() ? name_of(algorithms()[index]->collective) : nullptr;
}

const char *lw_algorithm_name(size_t index) {
    return index < algorithms().size() ? algorithms()[index]->name : nullptr;
}

lw_status lw_barrier(MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out({.collective = Collective::barrier, .comm = comm}, algorithm);
}

lw_status lw_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                   const lw_algorithm *algorithm) {
    return carry_out(bcast(buffer, count, type, root, comm), algorithm);
}

lw_status lw_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                     int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                     const lw_algorithm *algorithm) {
    return carry_out(move(Collective::scatter, send, send_count, send_type, receive, receive_count,
                          receive_type, root, comm),
                     algorithm);
}

lw_status lw_scatterv(const void *send, const int *counts, const int *displacements,
                      MPI_Datatype send_type, void *receive, int receive_count,
                      MPI_Datatype receive_type, int root, MPI_Comm comm,
                      const lw_algorithm *algorithm) {
    return carry_out(move(Collective::scatterv, send, 0, send_type, receive, receive_count,
                          receive_type, root, comm, counts, displacements),
                     algorithm);
}

lw_status lw_gather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                    int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                    const lw_algorithm *algorithm) {
    return carry_out(move(Collective::gather, send, send_count, send_type, receive, receive_count,
                          receive_type, root, comm),
                     algorithm);
}

lw_status lw_gatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                     const int *counts, const int *displacements, MPI_Datatype receive_type,
                     int root, MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out(move(Collective::gatherv, send, send_count, send_type, receive, 0,
                          receive_type, root, comm, counts, displacements),
                     algorithm);
}

lw_status lw_allgather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                       int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                       const lw_algorithm *algorithm) {
    return carry_out(move(Collective::allgather, send, send_count, send_type, receive,
                          receive_count, receive_type, 0, comm),
                     algorithm);
}

lw_status lw_allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                        const int *counts, const int *displacements, MPI_Datatype receive_type,
                        MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out(move(Collective::allgatherv, send, send_count, send_type, receive, 0,
                          receive_type, 0, comm, counts, displacements),
                     algorithm);
}

lw_status lw_alltoall(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                      int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                      const lw_algorithm *algorithm) {
    return carry_out(move(Collective::alltoall, send, send_count, send_type, receive, receive_count,
                          receive_type, 0, comm),
                     algorithm);
}

lw_status lw_alltoallv(const void *send, const int *send_counts, const int *send_displacements,
                       MPI_Datatype send_type, void *receive, const int *counts,
                       const int *displacements, MPI_Datatype receive_type, MPI_Comm comm,
                       const lw_algorithm *algorithm) {
    Call call = move(Collective::alltoallv, send, 0, send_type, receive, 0, receive_type, 0, comm,
                     counts, displacements);
    call.send_counts = send_counts;
    call.send_displacements = send_displacements;
    return carry_out(call, algorithm);
}

lw_status lw_alltoallw(const void *send, const int *send_counts,
                       const int *send_displacements_bytes, const MPI_Datatype *send_types,
                       void *receive, const int *counts, const int *displacements_bytes,
                       const MPI_Datatype *receive_types, MPI_Comm comm,
                       const lw_algorithm *algorithm) {
    return carry_out({.collective = Collective::alltoallw,
                      .send = send,
                      .receive = receive,
                      .counts = counts,
                      .displacements = displacements_bytes,
                      .send_counts = send_counts,
                      .send_displacements = send_displacements_bytes,
                      .send_types = send_types,
                      .receive_types = receive_types,
                      .comm = comm},
                     algorithm);
}

lw_status lw_reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out(reduction(Collective::reduce, send, receive, count, type, op, root, comm),
                     algorithm);
}

lw_status lw_allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out(reduction(Collective::allreduce, send, receive, count, type, op, 0, comm),
                     algorithm);
}

lw_status lw_reduce_scatter(const void *send, void *receive, const int *counts, MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm, const lw_algorithm *algorithm) {
    Call call = reduction(Collective::reduce_scatter, send, receive, 0, type, op, 0, comm);
    call.counts = counts;
    return carry_out(call, algorithm);
}

lw_status lw_scan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out(reduction(Collective::scan, send, receive, count, type, op, 0, comm),
                     algorithm);
}

lw_status lw_exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, const lw_algorithm *algorithm) {
    return carry_out(reduction(Collective::exscan, send, receive, count, type, op, 0, comm),
                     algorithm);
}

lw_status lw_ibarrier(MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending) {
    return begin({.collective = Collective::barrier, .comm = comm}, algorithm, pending);
}

lw_status lw_ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                    const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(bcast(buffer, count, type, root, comm), algorithm, pending);
}

lw_status lw_iscatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                      int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                      const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(move(Collective::scatter, send, send_count, send_type, receive, receive_count,
                      receive_type, root, comm),
                 algorithm, pending);
}

lw_status lw_igather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                     int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                     const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(move(Collective::gather, send, send_count, send_type, receive, receive_count,
                      receive_type, root, comm),
                 algorithm, pending);
}

lw_status lw_iallgather(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                        int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                        const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(move(Collective::allgather, send, send_count, send_type, receive, receive_count,
                      receive_type, 0, comm),
                 algorithm, pending);
}

lw_status lw_ialltoall(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                       int receive_count, MPI_Datatype receive_type, MPI_Comm comm,
                       const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(move(Collective::alltoall, send, send_count, send_type, receive, receive_count,
                      receive_type, 0, comm),
                 algorithm, pending);
}

lw_status lw_ireduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                     int root, MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(reduction(Collective::reduce, send, receive, count, type, op, root, comm),
                 algorithm, pending);
}

lw_status lw_iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(reduction(Collective::allreduce, send, receive, count, type, op, 0, comm),
                 algorithm, pending);
}

lw_status lw_iscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(reduction(Collective::scan, send, receive, count, type, op, 0, comm), algorithm,
                 pending);
}

lw_status lw_iexscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, const lw_algorithm *algorithm, lw_pending **pending) {
    return begin(reduction(Collective::exscan, send, receive, count, type, op, 0, comm), algorithm,
                 pending);
}

lw_status lw_pending_test(lw_pending *pending, int *done) {
    if (!pending || !done) return LW_ERR_ARGUMENT;
    return at_border([&] {
        bool complete = false;
        const int code = lanewise::collectives::test(*pending->call, complete);
        if (code == MPI_SUCCESS) *done = complete ? 1 : 0;
        return status_of(code, true);
    });
}

lw_status lw_pending_wait(lw_pending **pending) {
    if (!pending || !*pending) return LW_ERR_ARGUMENT;
    const std::unique_ptr<lw_pending> ended(std::exchange(*pending, nullptr));
    return at_border([&] { return status_of(lanewise::collectives::wait(*ended->call), true); });
}

lw_status lw_collective_fortran(const char *name, const lw_fortran_call *call,
                                const lw_algorithm *algorithm) {
    const auto asked = translated(name, call);
    return asked ? carry_out(*asked, algorithm) : refuse_translation(call, algorithm);
}

lw_status lw_icollective_fortran(const char *name, const lw_fortran_call *call,
                                 const lw_algorithm *algorithm, lw_pending **pending) {
    const auto asked = translated(name, call);
    return asked ? begin(*asked, algorithm, pending) : refuse_translation(call, algorithm);
}

void *lw_in_place_fortran(void) {
    return MPI_IN_PLACE;
}
