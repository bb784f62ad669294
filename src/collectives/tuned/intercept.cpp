// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/intercept.hpp"

#include <mutex>
#include <new>

#include "collectives/execute/request.hpp"
#include "collectives/tuned/environment.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;

// Of so many calls under a rule, the last is left to the MPI, to compare the times.
constexpr std::uint32_t sampling_period = 64;

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

bool valid_counts(const Call& call, const Standing& standing) {
    if (!call.counts) return false;
    for (int rank = 0; rank < standing.ranks; ++rank) {
        if (call.counts[rank] < 0) return false;
    }
    return true;
}

/* Zero, which stands for a size that no rank knows of all, where `valid`. */
Bytes sizeless(bool valid) {
    return valid ? Bytes(0) : std::nullopt;
}

Bytes scatterv_bytes(const Call& call, const Standing& standing) {
    const bool root = standing.rank == call.root;
    const bool receives = root && call.receive == MPI_IN_PLACE;
    if (!receives && !received(call)) return std::nullopt;
    if (!root) return 0;
    return sizeless(valid_counts(call, standing) && call.displacements &&
                    call.send_type != MPI_DATATYPE_NULL);
}

Bytes gatherv_bytes(const Call& call, const Standing& standing) {
    const bool root = standing.rank == call.root;
    const bool in_place = root && call.send == MPI_IN_PLACE;
    if (!in_place && !sent(call)) return std::nullopt;
    if (!root) return 0;
    return sizeless(valid_counts(call, standing) && call.displacements &&
                    call.receive_type != MPI_DATATYPE_NULL);
}

Bytes allgatherv_bytes(const Call& call, const Standing& standing) {
    if (call.send != MPI_IN_PLACE && !sent(call)) return std::nullopt;
    return sizeless(valid_counts(call, standing) && call.displacements &&
                    call.receive_type != MPI_DATATYPE_NULL);
}

/* Rules were measured with equal blocks. */
Bytes reduce_scatter_bytes(const Call& call, const Standing& standing) {
    if (!call.counts) return received(call);
    if (!valid_counts(call, standing)) return std::nullopt;
    for (int rank = 1; rank < standing.ranks; ++rank) {
        if (call.counts[rank] != call.counts[0]) return std::nullopt;
    }
    return bytes_of(call.counts[0], call.receive_type);
}

bool is_reduction(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce ||
           collective == Collective::reduce_scatter;
}

/* Once, and by one rank: a rule asks for sites that are not known here. */
void say_no_sites(const Call& call) {
    static std::once_flag once;
    std::call_once(once, [&] {
        const auto reason = why_no_sites(call.comm);
        int rank = 0;
        PMPI_Comm_rank(call.comm, &rank);
        if (rank == 0 && !reason.empty()) say(reason + "; the MPI's own algorithms are used");
    });
}

bool is_rooted(Collective collective) {
    switch (collective) {
        case Collective::bcast:
        case Collective::scatter:
        case Collective::scatterv:
        case Collective::gather:
        case Collective::gatherv:
        case Collective::reduce:
            return true;
        default:
            return false;
    }
}

}  // namespace

Bytes message_bytes(const Call& call, const Standing& standing) {
    const bool root = standing.rank == call.root;
    if (is_rooted(call.collective) && (call.root < 0 || call.root >= standing.ranks)) {
        return std::nullopt;
    }
    if (is_reduction(call.collective) && call.op == MPI_OP_NULL) return std::nullopt;
    switch (call.collective) {
        case Collective::barrier:
            return 0;
        case Collective::scatter:
            return root ? sent(call) : received(call);
        case Collective::gather:
            return root ? received(call) : sent(call);
        case Collective::scatterv:
            return scatterv_bytes(call, standing);
        case Collective::gatherv:
            return gatherv_bytes(call, standing);
        case Collective::allgatherv:
            return allgatherv_bytes(call, standing);
        case Collective::reduce_scatter:
            return reduce_scatter_bytes(call, standing);
        case Collective::bcast:
        case Collective::allgather:
        case Collective::alltoall:
        case Collective::reduce:
        case Collective::allreduce:
            return received(call);
    }
    return std::nullopt;
}

Decision decide(const Call& call, Calling calling, Standing& standing) {
    const Operation operation(call.collective, calling);
    Decision decision;
    const auto bytes = message_bytes(call, standing);
    if (!bytes) return decision;
    decision.valid = true;
    decision.message_bytes = *bytes;
    if (!standing.follows) return decision;
    decision.rule = find(rules().tuning, operation, *bytes);
    if (!decision.rule || !reports() || calling == Calling::nonblocking) return decision;
    auto& followed = standing.followed[operation.index()];
    const auto number = followed.fetch_add(1, std::memory_order_relaxed);
    decision.sampled = number % sampling_period == sampling_period - 1;
    return decision;
}

namespace {

/* Has `act` carry out the call, or start it: `act(choice, served)`. */
template <typename Act>
bool serve(const Call& call, const Rule& rule, int& code, const Act& act) {
    bool served = false;
    try {
        code = act(Choice{rule.algorithm, rule.segment_bytes, rule.lanes}, served);
    } catch (const std::bad_alloc&) {
        // Other ranks may be under way already, so this call cannot be passed on any more.
        PMPI_Comm_call_errhandler(call.comm, MPI_ERR_NO_MEM);
        code = MPI_ERR_NO_MEM;
        return true;
    }
    if (!served && code == MPI_SUCCESS && rule.algorithm->needs.sites) say_no_sites(call);
    return served || code != MPI_SUCCESS;
}

}  // namespace

bool carry_out(const Call& call, const Decision& decision, int& code) {
    return serve(call, *decision.rule, code,
                 [&](const Choice& choice, bool& served) { return execute(call, choice, served); });
}

bool begin(const Call& call, const Decision& decision, MPI_Request *request, int& code) {
    return serve(call, *decision.rule, code, [&](const Choice& choice, bool& served) {
        return start_request(call, choice, served, request);
    });
}

}  // namespace lanewise::tuned
