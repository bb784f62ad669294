// SPDX-License-Identifier: BSD-3-Clause
//
// The collective functions of the C API: arguments become a Call, an MPI error
// becomes a status.

#include <lanewise/collectives.h>
#include <lanewise/fortran.h>

#include <exception>
#include <memory>
#include <new>
#include <optional>

#include "collectives/balanced_choice.hpp"
#include "collectives/execute/execute.hpp"

/* One algorithm, or for each call the one in the balanced bracketing that suits it. */
struct lw_algorithm {
    lanewise::collectives::Collective collective;
    lanewise::collectives::Choice choice; /* no algorithm: is chosen for each call */
};

struct lw_pending {
    lanewise::collectives::PendingCall call;
};

namespace {

using lanewise::collectives::algorithms;
using lanewise::collectives::Bracketing;
using lanewise::collectives::Call;
using lanewise::collectives::Choice;
using lanewise::collectives::Collective;
using lanewise::collectives::name_of;
using lanewise::collectives::SameBits;

lw_status status_of(int code, bool served) {
    if (code != MPI_SUCCESS) return code == MPI_ERR_NO_MEM ? LW_ERR_MEMORY : LW_ERR_MPI;
    return served ? LW_OK : LW_ERR_UNSUPPORTED;
}

/* No exception crosses the border; the only one that can come up is that of memory. */
template <typename Act>
lw_status at_border(const Act& act) {
    try {
        return act();
    } catch (const std::bad_alloc&) {
        return LW_ERR_MEMORY;
    } catch (const std::exception&) {
        return LW_ERR_MPI;
    }
}

bool suits(const lw_algorithm *algorithm, const Call& call) {
    if (!algorithm || call.comm == MPI_COMM_NULL) return false;
    int between_groups = 0;
    if (PMPI_Comm_test_inter(call.comm, &between_groups) != MPI_SUCCESS) return false;
    return !between_groups && algorithm->collective == call.collective;
}

/* Of a reduce_scatter, whose counts may differ, the size does not matter. */
std::uint64_t bytes_of(const Call& call) {
    MPI_Count unit_bytes = 0;
    if (PMPI_Type_size_x(call.receive_type, &unit_bytes) != MPI_SUCCESS || unit_bytes < 0) return 0;
    return static_cast<std::uint64_t>(call.receive_count) * static_cast<std::uint64_t>(unit_bytes);
}

Choice choice_for(const Call& call, const lw_algorithm& algorithm) {
    Choice choice = algorithm.choice;
    if (choice.algorithm) return choice;
    int ranks = 1;
    PMPI_Comm_size(call.comm, &ranks);
    choice.algorithm =
        lanewise::collectives::balanced_choice(call.collective, ranks, bytes_of(call));
    return choice;
}

lw_status carry_out(const Call& call, const lw_algorithm *algorithm) {
    if (!suits(algorithm, call)) return LW_ERR_ARGUMENT;
    return at_border([&] {
        bool served = false;
        const int code = lanewise::collectives::execute(call, choice_for(call, *algorithm), served);
        return status_of(code, served);
    });
}

lw_status begin(const Call& call, const lw_algorithm *algorithm, lw_pending **pending) {
    if (!pending || !suits(algorithm, call)) return LW_ERR_ARGUMENT;
    return at_border([&] {
        bool served = false;
        auto made = std::make_unique<lw_pending>();
        const int code =
            lanewise::collectives::start(call, choice_for(call, *algorithm), served, made->call);
        const auto status = status_of(code, served);
        if (status == LW_OK) *pending = made.release();
        return status;
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

bool are_valid(const lw_algorithm_options& options) {
    if (options.struct_size != sizeof options || options.segment_bytes > INT64_MAX) return false;
    return options.bits == LW_BITS_ANY || options.bits == LW_BITS_ORDER;
}

/* The call that Fortran describes; none where it is not one. */
std::optional<Call> translated(const char *name, const lw_fortran_call *call) {
    if (!name || !call || call->struct_size != sizeof *call) return std::nullopt;
    const auto collective = lanewise::collectives::collective_named(name);
    if (!collective) return std::nullopt;
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

}  // namespace

lw_status lw_algorithm_named(const char *collective, const char *name, uint64_t segment_bytes,
                             lw_algorithm **algorithm) {
    if (!name) return LW_ERR_ARGUMENT;
    lw_algorithm_options options = LW_ALGORITHM_OPTIONS;
    options.segment_bytes = segment_bytes;
    return lw_algorithm_with(collective, name, &options, algorithm);
}

lw_status lw_algorithm_with(const char *collective, const char *name,
                            const lw_algorithm_options *options, lw_algorithm **algorithm) {
    const lw_algorithm_options defaults = LW_ALGORITHM_OPTIONS;
    if (!options) options = &defaults;
    if (!collective || !algorithm || !are_valid(*options)) return LW_ERR_ARGUMENT;
    const bool in_one_order = options->bits == LW_BITS_ORDER;
    if (!name && !in_one_order) return LW_ERR_ARGUMENT;
    const auto which = lanewise::collectives::collective_named(collective);
    if (!which) return LW_ERR_NOT_FOUND;
    const auto *found = name ? lanewise::collectives::find_algorithm(*which, name)
                             : lanewise::collectives::balanced_choice(*which, 1, 0);
    if (!found) return name ? LW_ERR_NOT_FOUND : LW_ERR_UNSUPPORTED;
    if (in_one_order && found->bracketing != Bracketing::balanced) return LW_ERR_UNSUPPORTED;
    return at_border([&] {
        const Choice choice{.algorithm = name ? found : nullptr,
                            .segment_bytes = static_cast<std::int64_t>(options->segment_bytes),
                            .same_bits = in_one_order ? SameBits::order : SameBits::unasked};
        *algorithm = new lw_algorithm{*which, choice};
        return LW_OK;
    });
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
    return at_border([&] {
        const int code = lanewise::collectives::wait(*(*pending)->call);
        delete *pending;
        *pending = nullptr;
        return status_of(code, true);
    });
}

lw_status lw_collective_fortran(const char *name, const lw_fortran_call *call,
                                const lw_algorithm *algorithm) {
    const auto asked = translated(name, call);
    return asked ? carry_out(*asked, algorithm) : LW_ERR_ARGUMENT;
}

lw_status lw_icollective_fortran(const char *name, const lw_fortran_call *call,
                                 const lw_algorithm *algorithm, lw_pending **pending) {
    const auto asked = translated(name, call);
    return asked ? begin(*asked, algorithm, pending) : LW_ERR_ARGUMENT;
}

void *lw_in_place_fortran(void) {
    return MPI_IN_PLACE;
}
