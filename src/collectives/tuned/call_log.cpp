// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/call_log.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/fnv.hpp"
#include "collectives/execute/cached_call.hpp"
#include "collectives/tuned/intercept.hpp"

namespace lanewise::tuned {

constinit bool recording = false;
constinit thread_local bool inside_recorded = false;
constinit thread_local const void *outer_site = nullptr;

namespace {

using collectives::CommunicatorState;

// A program calls from few places; those beyond this share one number.
constexpr std::size_t site_slots = 4096;
constexpr std::size_t sites_max = site_slots / 2;

/* Calls on such a communicator are only counted. */
constexpr int between_groups = -2;
constexpr int alone = -3;

struct Site {
    const void *address = nullptr;
    std::uint16_t number = 0;
};

struct Recorder {
    std::mutex mutex;
    CallLog log;
    std::size_t capacity = 0;
    std::array<Site, site_slots> sites{};
    /* How many communicators there were with the same ranks, by these. */
    std::unordered_map<std::uint64_t, std::uint64_t> same_ranks;
};

Recorder& recorder() {
    static Recorder instance;
    return instance;
}

std::uint16_t number_of(const void *address, Recorder& to) {
    const auto key = reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15U;
    for (std::size_t slot = key >> 52;; slot = (slot + 1) % site_slots) {
        auto& site = to.sites[slot];
        if (site.address == address) return site.number;
        if (site.address) continue;
        if (to.log.sites.size() == sites_max) return 0;
        site = {address, static_cast<std::uint16_t>(to.log.sites.size())};
        to.log.sites.push_back(address);
        return site.number;
    }
}

/* The ranks of a communicator, in the world, as one number. */
std::uint64_t hash_of_ranks(MPI_Comm comm, int ranks) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group own = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(comm, &own);
    std::vector<int> here(static_cast<std::size_t>(ranks));
    std::vector<int> there(here.size());
    for (int rank = 0; rank < ranks; ++rank) here[static_cast<std::size_t>(rank)] = rank;
    PMPI_Group_translate_ranks(own, ranks, here.data(), world, there.data());
    PMPI_Group_free(&own);
    PMPI_Group_free(&world);
    std::uint64_t hash = fnv1a_basis;
    for (const int rank : there) hash = fnv1a(hash, static_cast<std::uint64_t>(rank));
    return hash;
}

bool is_full(const Recorder& to) {
    return to.log.communicators.size() == std::numeric_limits<std::uint16_t>::max();
}

/* Ranks first use communicators of the same ranks in the same order, so counting names them. */
void number(CommunicatorState& state, MPI_Comm comm, Recorder& to) {
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    state.recorded.number = inter != 0 ? between_groups : alone;
    if (inter != 0 || state.ranks < 2 || is_full(to)) return;
    const auto hash = hash_of_ranks(comm, state.ranks);
    const auto which = to.same_ranks[hash]++;
    state.recorded.number = static_cast<int>(to.log.communicators.size());
    to.log.communicators.push_back({fnv1a(hash, which), state.rank, state.ranks, {}});
}

bool is_kept(const LoggedCall& call, const CallLog& log) {
    return profile::is_chosen(log.communicators[call.communicator].id, call.call, log.halvings);
}

void add(const LoggedCall& call, Recorder& to) {
    auto& log = to.log;
    if (!is_kept(call, log)) {
        ++log.unrecorded.forgotten;
        return;
    }
    while (log.calls.size() >= to.capacity) thin(log, log.halvings + 1);
    if (is_kept(call, log)) {
        log.calls.push_back(call);
    } else {
        ++log.unrecorded.forgotten;
    }
}

/* The state of a call's communicator, which has a number now, and the size of the call. While it
   lives nobody else uses the recorder. No state: the call is none of those that are recorded. */
struct Numbered {
    CommunicatorState *state = nullptr;
    std::uint64_t bytes = 0;
    std::unique_lock<std::mutex> lock;
};

Numbered numbered_state(const collectives::Call& call, Recorder& to) {
    if (call.comm == MPI_COMM_NULL || to.capacity == 0) return {};
    auto *state = collectives::state_for(call.collective, call.comm);
    if (!state) return {};
    if (is_neighborhood(call.collective)) learn_neighbors(*state, call.comm);
    const auto bytes = message_bytes(call, *state).value_or(0);
    std::unique_lock lock(to.mutex);
    if (!recording) return {};
    if (state->recorded.number == -1) number(*state, call.comm, to);
    return {state, bytes, std::move(lock)};
}

/* Notes whom this rank waits for in a call with its neighbors. */
void note_sources(const collectives::Call& call, const CommunicatorState& state,
                  LoggedCommunicator& of) {
    if (!is_neighborhood(call.collective) || !state.neighbors || !of.sources.empty()) return;
    for (const int source : state.neighbors->sources) {
        if (source != MPI_PROC_NULL) of.sources.push_back(source);
    }
}

/* Numbers a call and counts it where that is all. Its times are 0. */
std::optional<LoggedCall> begin(const collectives::Call& call, const Numbered& on, const void *site,
                                profile::Form form, Recorder& to) {
    auto& recorded = on.state->recorded;
    if (recorded.number == between_groups) ++to.log.unrecorded.between_groups;
    if (recorded.number < 0) return std::nullopt;
    note_sources(call, *on.state, to.log.communicators[static_cast<std::size_t>(recorded.number)]);
    LoggedCall begun{};
    begun.bytes = on.bytes;
    begun.call = recorded.calls++;
    begun.root = call.root;
    begun.communicator = static_cast<std::uint16_t>(recorded.number);
    begun.site = number_of(site, to);
    begun.collective = call.collective;
    begun.form = form;
    return begun;
}

}  // namespace

bool prepare_log(std::size_t capacity) {
    auto& to = recorder();
    try {
        to.log = {};
        to.log.calls.reserve(capacity);
        to.log.sites.reserve(sites_max);
        to.log.sites.push_back(nullptr);
        to.log.communicators.reserve(64);
    } catch (const std::bad_alloc&) {
        return false;
    }
    to.capacity = capacity;
    return true;
}

CallLog take_log() {
    const std::scoped_lock lock(recorder().mutex);
    return std::move(recorder().log);
}

void thin(CallLog& log, int halvings) {
    log.halvings = halvings;
    log.unrecorded.forgotten +=
        std::erase_if(log.calls, [&](const LoggedCall& call) { return !is_kept(call, log); });
}

void log_call(const collectives::Call& call, const void *site, std::int64_t entry_ns,
              std::int64_t exit_ns) {
    auto& to = recorder();
    const auto numbered = numbered_state(call, to);
    if (!numbered.state) return;
    to.log.in_calls_ns += exit_ns - entry_ns;
    if (auto begun = begin(call, numbered, site, profile::Form::blocking, to)) {
        begun->entry_ns = entry_ns;
        begun->exit_ns = exit_ns;
        add(*begun, to);
    }
}

std::optional<LoggedCall> begin_call(const collectives::Call& call, const void *site,
                                     profile::Form form) {
    auto& to = recorder();
    const auto numbered = numbered_state(call, to);
    return numbered.state ? begin(call, numbered, site, form, to) : std::nullopt;
}

std::uint16_t number_of_site(const void *site) {
    auto& to = recorder();
    const std::scoped_lock lock(to.mutex);
    return recording ? number_of(site, to) : std::uint16_t{0};
}

std::optional<LoggedCall> prepare_call(const collectives::Call& call) {
    auto& to = recorder();
    const auto numbered = numbered_state(call, to);
    auto *state = numbered.state;
    if (!state || state->recorded.number < 0 || is_full(to)) return std::nullopt;
    const auto& of = to.log.communicators[static_cast<std::size_t>(state->recorded.number)];
    const auto which = ++state->recorded.persistent;
    LoggedCall prepared{};
    prepared.bytes = numbered.bytes;
    prepared.root = call.root;
    prepared.communicator = static_cast<std::uint16_t>(to.log.communicators.size());
    prepared.collective = call.collective;
    prepared.form = profile::Form::persistent;
    LoggedCommunicator own{fnv1a(~of.id, which), of.rank, of.ranks, {}};
    note_sources(call, *state, own);
    to.log.communicators.push_back(std::move(own));
    return prepared;
}

void add_to_log(const LoggedCall& call) {
    auto& to = recorder();
    const std::scoped_lock lock(to.mutex);
    if (recording) add(call, to);
}

void count_unended() {
    auto& to = recorder();
    const std::scoped_lock lock(to.mutex);
    ++to.log.unrecorded.nonblocking;
}

void add_time_in_calls(std::int64_t elapsed_ns) {
    auto& to = recorder();
    const std::scoped_lock lock(to.mutex);
    if (recording) to.log.in_calls_ns += elapsed_ns;
}

}  // namespace lanewise::tuned
