// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/put_aside.hpp"

#include <cstdio>
#include <map>
#include <mutex>

#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/watch.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;

}  // namespace
}  // namespace lanewise::tuned

/* What is kept with a communicator. Calls on it begin in one order, so one thread at a time is
   here. */
struct lanewise::collectives::WatchedRules {
    struct Watched {
        tuned::Watch watch;
        bool put_aside = false;
    };
    std::map<const Rule *, Watched> rules;
};

namespace lanewise::tuned {
namespace {

struct Aside {
    std::mutex mutex;
    std::vector<RulePutAside> rules;
};

// Never destroyed, as what a process without a world writes at its end is of it.
Aside& aside() {
    static auto *const instance = new Aside;
    return *instance;
}

std::string text_of(const RulePutAside& one) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, "%.2f times the time of the MPI's own over %zu samples",
                  one.ratio, one.samples);
    return name_of(one.operation) + " by " + one.rule.algorithm->name + " (" +
           std::to_string(one.rule.from_bytes) + " to " + std::to_string(one.rule.to_bytes) +
           " bytes) takes " + numbers + "; " + std::to_string(one.ranks) +
           " ranks use the MPI's own from now on";
}

void put_aside(const CommunicatorState& state, Operation operation, const Rule& rule,
               const Watch& watch) {
    const RulePutAside one{operation, rule, state.ranks, watch.observations(), watch.ratio()};
    {
        auto& all = aside();
        const std::lock_guard lock(all.mutex);
        all.rules.push_back(one);
    }
    // What was decided before must be decided anew.
    generation.fetch_add(1, std::memory_order_release);
    if (state.rank == 0) say(text_of(one));
}

/* Collective: the mean over the ranks of what each saw. False where the MPI refuses. */
bool average(std::span<double> values, const CommunicatorState& state) {
    const int code = PMPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                                    MPI_DOUBLE, MPI_SUM, state.duplicate);
    for (double& value : values) value /= state.ranks;
    return code == MPI_SUCCESS;
}

}  // namespace

void watch_rule(CommunicatorState& state, Operation operation, const Rule& rule,
                std::uint64_t message_bytes, CallOutcome outcome, std::int64_t elapsed_ns) {
    auto& kept = state.interception.watched;
    if (!kept) kept = std::make_shared<WatchedRules>();
    auto& [watch, is_aside] = kept->rules[&rule];
    if (outcome == CallOutcome::intercepted) watch.ruled(message_bytes, elapsed_ns);
    if (outcome == CallOutcome::sampled) watch.sampled(message_bytes, elapsed_ns);
    // Without a communicator of ours no call was executed by the rule yet.
    if (is_aside || !watch.is_due() || state.duplicate == MPI_COMM_NULL) return;
    if (!average(watch.pairs(), state) || !watch.look()) return;
    is_aside = true;
    put_aside(state, operation, rule, watch);
}

bool is_put_aside(const CommunicatorState& state, const Rule& rule) {
    const auto& kept = state.interception.watched;
    if (!kept) return false;
    const auto found = kept->rules.find(&rule);
    return found != kept->rules.end() && found->second.put_aside;
}

std::vector<RulePutAside> rules_put_aside() {
    auto& all = aside();
    const std::lock_guard lock(all.mutex);
    return all.rules;
}

}  // namespace lanewise::tuned
