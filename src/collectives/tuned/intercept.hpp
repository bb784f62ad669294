// SPDX-License-Identifier: BSD-3-Clause
//
// Intercept: one call of the program's. It is executed by its rule or forwarded to the next
// definition of the function, which is that of the MPI or of another tool. What decides is known to
// every rank alike. Calls that are not valid are forwarded, so that the MPI itself reports them.
//
//   intercept -> cached call -> decide -> prepare -> execute
//
// A call that was made before goes from its cached call straight to the MPI or to its program.

#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/tuned/put_aside.hpp"
#include "collectives/tuned/report.hpp"

namespace lanewise::tuned {

using collectives::CachedCall;
using collectives::Call;
using collectives::Calling;
using collectives::Collective;
using collectives::CommunicatorState;
using collectives::Operation;

/* LANEWISE_TUNING is set. Written once, when the library is loaded. */
extern constinit bool active;

/* Whether this thread is inside an intercepted call already. */
extern constinit thread_local bool inside;

/* While it lives, calls that this thread makes are not intercepted again. */
class Inside {
  public:
    Inside() { inside = true; }
    ~Inside() { inside = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

/* Decides on a call and keeps the decision; in `decided` where it cannot be kept. */
CachedCall& decide(Operation operation, const Call& call, CachedCall& decided);

/* Decides on all starts of a persistent call, which follows the rules of a nonblocking one.
   Collective, as preparing such a call may be: unlike nonblocking calls, it may be the first on its
   communicator, and the ranks may ask each other where their buffers are. */
CachedCall decide_persistent(const Call& call);

/* How many decisions this process had to work out. */
std::uint64_t decision_count();

/* Whether this call is one of those that are left to the MPI to know its time. */
bool is_sample(const CachedCall& decided);

/* Executes the call. False on every rank alike where the rule's algorithm does not serve it. */
bool execute_by_rule(const Call& call, CachedCall& decided, int& code);

/* The same, without waiting for its end. */
bool start_by_rule(const Call& call, CachedCall& decided, MPI_Request *request, int& code);

/* Prepares what each start executes. Null on every rank alike where the MPI shall do it. */
collectives::SharedPersistentCall prepare_by_rule(const Call& call, CachedCall& decided, int& code);

/* Goes on with calls in flight, before a function in which the MPI does not ask for it. */
void go_on_when_asked();

/* Has the handler that `comm` has now told of an error, and returns its code. */
int raise_error(MPI_Comm comm, int code);

/* Ends the job: other ranks are under way already, and not even what this one owes them can be
   worked out. */
[[noreturn]] void end_without_memory(const Call& call);

/* Whether every call of `operation` on `comm` is known to be forwarded: most calls end here. */
inline bool forwards_all(Operation operation, MPI_Comm comm) {
    if (!active) return true;
    const auto *known = collectives::cached_operation(operation, comm);
    return known && known->forwards;
}

/* With what a blocking call that is not prepared comes to; apart, so that others save no registers.
 */
template <typename Forward>
[[gnu::noinline]] int intercept_unprepared(const Call& call, CachedCall *known,
                                           const Forward& forward) {
    bool executed = false;
    int code = MPI_SUCCESS;
    {
        const Inside here;
        CachedCall unkept;
        CachedCall& decided = known ? *known : decide(call.collective, call, unkept);
        const std::int64_t begin_ns = reports() ? monotonic_ns() : 0;
        CallOutcome outcome = is_sample(decided) ? CallOutcome::sampled : CallOutcome::forwarded;
        executed = outcome != CallOutcome::sampled && execute_by_rule(call, decided, code);
        if (executed) outcome = CallOutcome::intercepted;
        if (!executed) code = forward();
        if (reports() && decided.valid) {
            const auto elapsed_ns = monotonic_ns() - begin_ns;
            record(call.collective, decided.message_bytes, decided.rule, outcome, elapsed_ns);
            if (decided.rule) {
                watch_rule(*decided.state, call.collective, *decided.rule, decided.message_bytes,
                           outcome, elapsed_ns);
            }
        }
    }
    return executed && code != MPI_SUCCESS ? raise_error(call.comm, code) : code;
}

template <typename Forward>
int intercept(const Call& call, const Forward& forward) {
    CachedCall *known = collectives::cached_call(call.collective, call);
    if (inside || (known && known->forwards)) return forward();
    if (!known || !known->prepared || reports()) {
        return intercept_unprepared(copy_of(call), known, forward);
    }
    int code = MPI_SUCCESS;
    {
        const Inside here;
        code = run_prepared(*known->prepared, call.send, call.receive);
    }
    if (code != MPI_SUCCESS) [[unlikely]]
        return raise_error(call.comm, code);
    return MPI_SUCCESS;
}

/* A nonblocking call. The time that it takes lies in what the program does meanwhile, so it is only
   counted. */
template <typename Forward>
int intercept(const Call& call, MPI_Request *request, const Forward& forward) {
    const Operation operation(call.collective, Calling::nonblocking);
    CachedCall *known = collectives::cached_call(operation, call);
    if (inside || (known && known->forwards)) return forward();
    bool started = false;
    int code = MPI_SUCCESS;
    {
        const Inside here;
        CachedCall unkept;
        CachedCall& decided = known ? *known : decide(operation, call, unkept);
        started = request && start_by_rule(call, decided, request, code);
        if (!started) code = forward();
        if (reports() && decided.valid) {
            record(operation, decided.message_bytes, decided.rule,
                   started ? CallOutcome::intercepted : CallOutcome::forwarded, 0);
        }
    }
    return started && code != MPI_SUCCESS ? raise_error(call.comm, code) : code;
}

}  // namespace lanewise::tuned
