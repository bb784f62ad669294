// SPDX-License-Identifier: BSD-3-Clause
//
// See implementation.hpp.

#include "tune/implementation.hpp"

#include <chrono>

#include "collectives/execute/request.hpp"

namespace lanewise::tune {
namespace {

using collectives::Call;
using collectives::Collective;
using measure::Exchange;
using measure::Running;

int set_up(void *context, MPI_Comm comm, int root, std::uint64_t message_bytes, void **state) {
    auto execution = (*static_cast<const Implementation *>(context))(comm, root, message_bytes);
    if (!execution) return 1;
    *state = new Execution(std::move(*execution));
    return 0;
}

int execute(void *state) {
    return static_cast<Execution *>(state)->call();
}

void come_between(void *state) {
    const auto& between = static_cast<Execution *>(state)->between;
    if (between) between();
}

void tear_down(void *state) {
    delete static_cast<Execution *>(state);
}

Result<std::shared_ptr<Running>> run_named(const std::string& name, MPI_Comm comm, int root,
                                           std::uint64_t message_bytes) {
    // The operation must outlive what runs it.
    struct Both {
        lw_operation operation;
        std::optional<Running> running;
    };
    auto both = std::make_shared<Both>();
    both->operation.name = name;
    both->operation.entry = measure::find_entry(name);
    if (!both->operation.entry) return Failure{LW_ERR_NOT_FOUND, "unknown operation " + name};
    auto running = Running::create(both->operation, comm, root, message_bytes);
    if (!running) return running.failure();
    both->running.emplace(std::move(*running));
    return std::shared_ptr<Running>(both, &*both->running);
}

// The call that the measured operation would make, as arguments of `execute`.
Call call_of(Collective collective, const Exchange& e) {
    Call call{.collective = collective, .root = e.root, .comm = e.comm};
    const auto own = [&e](std::size_t rank) { return e.counts.empty() ? e.count : e.counts[rank]; };
    const auto mine = own(static_cast<std::size_t>(e.rank));
    call.send = e.send;
    call.receive = e.receive;
    call.send_count = call.receive_count = mine;
    call.send_type = call.receive_type = e.type;
    call.counts = e.counts.empty() ? nullptr : e.counts.data();
    call.displacements = e.displacements.empty() ? nullptr : e.displacements.data();
    if (is_uneven_exchange(collective)) {
        const bool bytewise = collective == Collective::alltoallw;
        call.send_counts = e.own_counts.data();
        call.send_displacements =
            bytewise ? e.own_displacements_bytes.data() : e.own_displacements.data();
        if (bytewise) {
            call.displacements = e.displacements_bytes.data();
            call.send_types = call.receive_types = e.types.data();
        }
    }
    if (is_reduction(collective)) call.op = MPI_SUM;
    if (collective == Collective::bcast) call.receive = e.send;
    return call;
}

/* Work that calls no MPI. */
void work(double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
    }
}

}  // namespace

int work_and_wait(double work_s, MPI_Request& request) {
    if (work_s > 0.0) work(work_s);
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

lw_operation operation_of(const std::string& name, const Implementation& implementation) {
    lw_operation operation;
    operation.name = name;
    operation.callbacks = {.struct_size = sizeof(lw_operation_callbacks),
                           .name = nullptr,
                           .setup = set_up,
                           .execute = execute,
                           .teardown = tear_down,
                           .context = const_cast<Implementation *>(&implementation)};
    operation.between = come_between;
    return operation;
}

Implementation default_implementation(const std::string& name) {
    return [name](MPI_Comm comm, int root, std::uint64_t message_bytes) -> Result<Execution> {
        auto running = run_named(name, comm, root, message_bytes);
        if (!running) return running.failure();
        return Execution([running = *running] { return running->execute(); });
    };
}

Implementation algorithm_implementation(const collectives::Algorithm& algorithm,
                                        std::int64_t segment_bytes, int lanes) {
    const collectives::Choice choice{
        .algorithm = &algorithm, .segment_bytes = segment_bytes, .lanes = lanes};
    return [choice](MPI_Comm comm, int root, std::uint64_t message_bytes) -> Result<Execution> {
        const auto collective = choice.algorithm->collective;
        auto running = run_named(name_of(collective), comm, root, message_bytes);
        if (!running) return running.failure();
        const auto call = call_of(collective, (*running)->exchange());
        return Execution([running = *running, call, choice]() -> int {
            bool served = false;
            const int code = collectives::execute(call, choice, served);
            return served ? code : MPI_ERR_OTHER;
        });
    };
}

Implementation algorithm_request(const collectives::Algorithm& algorithm,
                                 std::int64_t segment_bytes, int lanes, double work_s) {
    const collectives::Choice choice{
        .algorithm = &algorithm, .segment_bytes = segment_bytes, .lanes = lanes};
    return [choice, work_s](MPI_Comm comm, int root,
                            std::uint64_t message_bytes) -> Result<Execution> {
        const auto collective = choice.algorithm->collective;
        auto running = run_named(name_of(collective), comm, root, message_bytes);
        if (!running) return running.failure();
        const auto call = call_of(collective, (*running)->exchange());
        return Execution([running = *running, call, choice, work_s]() -> int {
            bool served = false;
            MPI_Request request = MPI_REQUEST_NULL;
            const int code = collectives::start_request(call, choice, served, &request);
            if (code != MPI_SUCCESS) return code;
            return served ? work_and_wait(work_s, request) : MPI_ERR_OTHER;
        });
    };
}

Implementation sequence(const std::vector<Part>& parts) {
    return [parts](MPI_Comm comm, int root, std::uint64_t) -> Result<Execution> {
        std::vector<std::shared_ptr<Running>> all;
        for (const auto& part : parts) {
            auto running = run_named(part.operation, comm, root, part.message_bytes);
            if (!running) return running.failure();
            all.push_back(*running);
        }
        return Execution([all]() -> int {
            for (const auto& running : all) {
                if (const int code = running->execute(); code != MPI_SUCCESS) return code;
            }
            return MPI_SUCCESS;
        });
    };
}

}  // namespace lanewise::tune
