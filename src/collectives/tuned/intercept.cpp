// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/intercept.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>

#include "collectives/execute/datatype.hpp"
#include "collectives/execute/exact_call.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/execute/progress.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/device_memory.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/reduced_types.hpp"
#include "collectives/tuned/roll_call.hpp"
#include "collectives/tuned/rule_bytes.hpp"
#include "collectives/tuned/same_bits.hpp"
#include "collectives/tuned/switch.hpp"
#include "sums/mpi/f90_types.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;

// Of so many calls under a rule, the last is forwarded, to compare the times.
constexpr std::uint32_t sampling_period = 64;
constexpr const char *left_device_calls = "calls with memory of a GPU are left to the MPI";

std::atomic<std::uint64_t> decisions{0};

bool may_be_asked(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return false;
    return (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) || has_world();
}

/* The state of `comm` once its ranks have compared their rules; null before that, where nobody may
   wait for it, and where there is no such communicator. */
CommunicatorState *compared_state(Operation operation, MPI_Comm comm) {
    if (!may_be_asked(comm)) return nullptr;
    auto *state = state_for(operation, comm);
    if (!state || state->interception.compared) return state;
    // A rank alone waits for nobody.
    if (operation.calling == Calling::nonblocking && state->ranks > 1) return nullptr;
    compare_rules(*state, comm);
    return state;
}

/* The state of `comm` where all its ranks are: they compare their rules unless they have. */
CommunicatorState *state_compared_now(MPI_Comm comm) {
    if (!may_be_asked(comm)) return nullptr;
    auto *state = state_of(comm);
    if (state && !state->interception.compared) compare_rules(*state, comm);
    return state;
}

/* Whether the MPI refuses the operator: those of its own take types of its own only, and of these
   not all. */
bool is_refused(const Call& call) {
    if (!is_reduction(call.collective)) return false;
    // These two are for one-sided communication.
    if (call.op == MPI_REPLACE || call.op == MPI_NO_OP) return true;
    if (!is_predefined_op(call.op)) return false;
    const auto type = call.receive_type;
    if (type == MPI_DATATYPE_NULL) return true;
    if (!is_predefined_type(type) && !layout_of(type).predefined && !sums::f90_kind_of(type)) {
        return true;
    }
    return !takes(call.op, type);
}

/* A nonblocking call that is forwarded before the ranks have compared their rules, for the report.
   Not in the table: the next one may come after that. */
void count_uncompared(Operation operation, const Call& call, CachedCall& decided) {
    if (!reports() || !may_be_asked(call.comm)) return;
    auto *state = state_for(operation, call.comm);
    int between_groups = 0;
    PMPI_Comm_test_inter(call.comm, &between_groups);
    if (!state || between_groups != 0 || is_refused(call)) return;
    if (is_neighborhood(call.collective)) learn_neighbors(*state, call.comm);
    const auto bytes = message_bytes(call, *state);
    if (!bytes) return;
    decided.operation = operation;
    decided.state = state;
    decided.valid = true;
    decided.message_bytes = *bytes;
}

/* Whether reductions shall have the same bits, but are left out on this communicator. */
bool lacks_same_bits(const CommunicatorState& state) {
    return state.interception.is_left_out && environment().same_bits != SameBits::unasked;
}

/* Of an operation that neither rules nor same bits concern. Before all calls are forwarded, it is
   said of the first whose bits may differ. */
void forward_all(Operation operation, const Call& call, const CommunicatorState& state) {
    if (is_reduction(call.collective) && lacks_same_bits(state)) {
        if (!depends_on_order(call)) return;
        say_what_may_differ(call, form_of(operation));
    }
    if (auto *all = cached_operation(operation, call.comm)) all->forwards = true;
}

/* Whether MPI_IN_PLACE has the algorithms copy the data once more, and all ranks pass it or none.
 */
bool copies_in_place(const Call& call) {
    if (call.collective == Collective::alltoall || is_uneven_exchange(call.collective)) return true;
    // With counts each rank is free to pass it, so no rank knows who does.
    return call.collective == Collective::reduce_scatter && !call.counts;
}

/*
 * Whether a call costs what the calls cost that were measured: data is moved from one buffer to
 * another, and numbers of at most 8 bytes are added. Others are left to the MPI, as far as every
 * rank knows of it: in a reduction all ranks pass the same type and operator. Where data is only
 * moved no rank knows the types of the others, nor does a root's MPI_IN_PLACE show.
 */
bool costs_as_measured(const Call& call) {
    if (copies_in_place(call) && call.send == MPI_IN_PLACE) return false;
    if (!is_reduction(call.collective)) return true;
    const bool pairs = call.op == MPI_MAXLOC || call.op == MPI_MINLOC;
    if (pairs || !is_predefined_op(call.op) || !is_predefined_type(call.receive_type)) return false;
    constexpr int number_bytes_max = 8;
    int bytes = 0;
    return PMPI_Type_size(call.receive_type, &bytes) == MPI_SUCCESS && bytes <= number_bytes_max;
}

const Rule *rule_for(Operation operation, const Call& call, const CommunicatorState& state,
                     std::uint64_t bytes) {
    if (is_switched()) return switched_rule(operation, bytes);
    const auto& tuned = *state.interception.tuned;
    const Rule *rule = find(tuned, operation, bytes);
    if (!rule || is_put_aside(state, *rule)) return nullptr;
    // Without the network of just these ranks the algorithm would be told by that of others.
    if (rule->algorithm->needs.platform && !state.interception.has_network) return nullptr;
    return tuned.for_every_call || costs_as_measured(call) ? rule : nullptr;
}

/* Of a call that is left to the MPI after all. */
void say_if_bits_are_asked_for(const Call& call, const CachedCall& decided, profile::Form form) {
    if (decided.state->interception.same_bits == SameBits::unasked) return;
    say_what_may_differ(call, form);
}

/* Of a call that would follow a rule, or keep its bits. */
void say_that_devices_forward(const Call& call, const CachedCall& decided, profile::Form form,
                              const std::string& sentence) {
    if (decided.rule) say_once(sentence);
    say_if_bits_are_asked_for(call, decided, form);
}

/* What is done with a valid call; blocks of several sizes have no size that rules go by. */
void settle(CachedCall& decided, const Call& call, std::optional<std::uint64_t> bytes,
            profile::Form form) {
    const auto& known = decided.state->interception;
    const auto operation = decided.operation;
    if (bytes && known.follows_rules) {
        decided.rule = rule_for(operation, call, *decided.state, *bytes);
    }
    if (const auto *rule = decided.rule) {
        decided.choice = {rule->algorithm, rule->segment_bytes, rule->lanes};
    }
    if (known.same_bits != SameBits::unasked) {
        keep_bits(decided, call, known.same_bits, form);
    }
    // To ask the other ranks where their buffers are would be to wait for them.
    const bool may_wait = form != profile::Form::nonblocking;
    if (known.has_devices && !may_wait && decided.choice.algorithm) {
        say_that_devices_forward(call, decided, form,
                                 "a GPU's driver is loaded: nonblocking calls are left to the MPI");
        decided.choice = {};
    }
    decided.forwards = !decided.choice.algorithm && !decided.reduces_exactly && !reports();
}

/* Decides on a call of an operation that rules or same bits concern; false: it is not valid. */
bool settle_valid(CachedCall& decided, Operation operation, const Call& call,
                  CommunicatorState& state, profile::Form form) {
    if (is_refused(call)) return false;
    if (lacks_same_bits(state)) say_what_may_differ(call, form);
    const bool keeps_bits = state.interception.same_bits != SameBits::unasked;
    if (is_neighborhood(call.collective)) learn_neighbors(state, call.comm);
    const auto bytes = message_bytes(call, state);
    const bool uneven = !bytes && keeps_bits && has_blocks(call, state);
    if (!bytes && !uneven) return false;
    decided.operation = operation;
    decided.state = &state;
    decided.valid = true;
    decided.message_bytes = bytes.value_or(0);
    settle(decided, call, bytes, form);
    return true;
}

/* Whether a buffer of any rank is device memory, which schedules cannot copy or reduce. Collective:
   nobody knows where the buffers of the others are. */
bool uses_devices(const Call& call, CommunicatorState& state) {
    if (prepare_to_execute(state, call.comm) != MPI_SUCCESS) return true;
    if (state.is_left_to_mpi) return false;
    const int mine = is_device_memory(call.send) || is_device_memory(call.receive) ? 1 : 0;
    int any = 1;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, state.duplicate);
    return any != 0;
}

/* Says once, by one rank, that a rule needs sites which are not known here. */
void say_no_sites(const Call& call) {
    static std::once_flag once;
    std::call_once(once, [&] {
        const auto reason = why_no_sites(call.comm);
        int rank = 0;
        PMPI_Comm_rank(call.comm, &rank);
        if (rank == 0 && !reason.empty()) say(reason + "; the MPI's own algorithms are used");
    });
}

/* Has `act` execute the call, start it or prepare it: `act(served)`. */
template <typename Act>
bool serve(const Call& call, CachedCall& decided, profile::Form form, int& code, const Act& act) {
    bool served = false;
    try {
        code = act(served);
    } catch (const std::bad_alloc&) {
        end_without_memory(call);
    }
    if (served && is_switched()) count_served();
    if (served || code != MPI_SUCCESS) return true;
    if (decided.state->is_left_to_mpi) say_too_many();
    if (decided.choice.algorithm->needs.sites) say_no_sites(call);
    say_if_bits_are_asked_for(call, decided, form);
    // The same call would be refused again, unless its operator is freed and the handle reused, or
    // another rank describes its data by another type, about which all ranks are asked each time.
    if (is_predefined_op(call.op) && !decided.asks) {
        decided.choice = {};
        decided.forwards = !reports();
    }
    return false;
}

}  // namespace

constinit bool active = false;
constinit thread_local bool inside = false;

int raise_error(MPI_Comm comm, int code) {
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

void end_without_memory(const Call& call) {
    raise_error(call.comm, MPI_ERR_NO_MEM);
    say("no memory is left to prepare a " + std::string(name_of(call.collective)) +
        " that other ranks wait in; the job is ended");
    PMPI_Abort(call.comm, MPI_ERR_NO_MEM);
    std::abort();
}

CachedCall& decide(Operation operation, const Call& call, CachedCall& decided) {
    auto *state = compared_state(operation, call.comm);
    if (!state) {
        if (environment().same_bits != SameBits::unasked)
            say_what_may_differ(call, form_of(operation));
        count_uncompared(operation, call, decided);
        return decided;
    }
    if (!state->interception.concerns[operation.index()]) {
        forward_all(operation, call, *state);
        return decided;
    }
    decisions.fetch_add(1, std::memory_order_relaxed);
    if (!settle_valid(decided, operation, call, *state, form_of(operation))) return decided;
    // Where buffers may be device memory, each call that may wait has to be looked at.
    const bool is_looked_at = decided.choice.algorithm || decided.reduces_exactly;
    if (is_looked_at && state->interception.has_devices) return decided;
    return keep(call, decided);
}

CachedCall decide_persistent(const Call& call) {
    CachedCall decided;
    const Operation operation(call.collective, Calling::nonblocking);
    const auto form = profile::Form::persistent;
    auto *state = state_compared_now(call.comm);
    if (!state || !state->interception.concerns[operation.index()]) {
        const bool bits = environment().same_bits != SameBits::unasked;
        if (bits && (!state || lacks_same_bits(*state))) say_what_may_differ(call, form);
        return decided;
    }
    if (!settle_valid(decided, operation, call, *state, form)) return decided;
    if (!decided.choice.algorithm || !state->interception.has_devices) return decided;
    if (uses_devices(call, *state)) {
        say_that_devices_forward(call, decided, form, left_device_calls);
        decided.choice = {};
    }
    return decided;
}

void go_on_when_asked() {
    if (active && progress_here() == Progress::when_asked) poll_requests();
}

std::uint64_t decision_count() {
    return decisions.load(std::memory_order_relaxed);
}

bool is_sample(const CachedCall& decided) {
    if (!reports() || !decided.rule) return false;
    // The MPI would combine in another order.
    const bool keeps_bits = decided.state->interception.same_bits != SameBits::unasked;
    if (keeps_bits && is_reduction(decided.operation.collective)) return false;
    auto& calls = decided.state->interception.ruled_calls[decided.operation.index()];
    return calls.fetch_add(1, std::memory_order_relaxed) % sampling_period == sampling_period - 1;
}

bool execute_by_rule(const Call& call, CachedCall& decided, int& code) {
    if (!decided.choice.algorithm && !decided.reduces_exactly) return false;
    if (decided.state->interception.has_devices && uses_devices(call, *decided.state)) {
        say_that_devices_forward(call, decided, profile::Form::blocking, left_device_calls);
        return false;
    }
    if (decided.reduces_exactly) {
        code = reduce_exactly(call, *decided.state);
        return true;
    }
    return serve(call, decided, profile::Form::blocking, code,
                 [&](bool& served) { return execute(call, decided, served); });
}

bool start_by_rule(const Call& call, CachedCall& decided, MPI_Request *request, int& code) {
    if (!decided.choice.algorithm) return false;
    return serve(call, decided, profile::Form::nonblocking, code, [&](bool& served) {
        return start_request(call, decided.choice, *decided.state, served, request);
    });
}

collectives::SharedPersistentCall prepare_by_rule(const Call& call, CachedCall& decided,
                                                  int& code) {
    collectives::SharedPersistentCall prepared;
    if (!decided.choice.algorithm) return prepared;
    serve(call, decided, profile::Form::persistent, code, [&](bool& served) {
        const int failed = prepare_request(call, decided.choice, *decided.state, prepared);
        served = prepared != nullptr;
        return failed;
    });
    return prepared;
}

}  // namespace lanewise::tuned
