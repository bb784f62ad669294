// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/same_bits.hpp"

#include <string>

#include "collectives/balanced_choice.hpp"
#include "collectives/execute/exact_call.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/environment.hpp"

namespace lanewise::tuned {

using namespace collectives;

namespace {

std::string calls_of(const Call& call, profile::Form form) {
    if (form != profile::Form::persistent)
        return "calls of " + profile::name_of(call.collective, form);
    return "persistent calls of " + std::string(name_of(call.collective));
}

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

/* Whether an exact call may go on here without being waited for, and leaves room for others. Uneven
   blocks are measured when the call begins. */
bool can_collect(const CachedCall& decided) {
    const auto *algorithm = collecting(decided.operation.collective);
    const auto ranks = static_cast<std::uint64_t>(decided.state->ranks);
    const auto limit = static_cast<std::uint64_t>(environment().scratch_limit_bytes);
    return can_be_requested(*algorithm) && decided.message_bytes <= limit / ranks;
}

void choose(CachedCall& decided, const Algorithm *algorithm) {
    decided.rule = nullptr;
    decided.choice = {algorithm};
}

}  // namespace

void keep_bits(CachedCall& decided, const Call& call, SameBits wanted, profile::Form form) {
    if (!is_reduction(call.collective) || !depends_on_order(call)) return;
    const int ranks = decided.state->ranks;
    const auto how = wanted == SameBits::ranks ? rank_free(call, ranks) : RankFree::no;
    const bool exactly = how == RankFree::exactly;
    decided.reduces_exactly = exactly && decided.operation.calling == Calling::blocking;
    if (decided.reduces_exactly) return choose(decided, nullptr);
    if (ranks < 2 && !exactly) return;
    if (exactly && can_collect(decided)) {
        choose(decided, collecting(call.collective));
    } else {
        if (wanted == SameBits::ranks && how != RankFree::in_any_way) {
            say_once(calls_of(call, form) + " keep their bits on one number of ranks only");
        }
        if (!serves(decided.choice.algorithm, decided.operation)) {
            choose(decided, algorithm_in_order(decided));
        }
    }
    decided.choice.same_bits = wanted;
    if (!decided.choice.algorithm) say_what_may_differ(call, form);
}

void say_what_may_differ(const Call& call, profile::Form form) {
    if (!is_reduction(call.collective) || !depends_on_order(call)) return;
    say_once(calls_of(call, form) + " are left to the MPI: their bits may differ");
}

profile::Form form_of(Operation operation) {
    return operation.calling == Calling::blocking ? profile::Form::blocking
                                                  : profile::Form::nonblocking;
}

}  // namespace lanewise::tuned
