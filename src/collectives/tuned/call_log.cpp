// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/call_log.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <mutex>

#include "base/fnv.hpp"
#include "collectives/execute/cached_call.hpp"
#include "collectives/tuned/call_bytes.hpp"
#include "collectives/tuned/communicator_ids.hpp"

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
constexpr int one_too_many = -4;

struct Site {
    const void *address = nullptr;
    std::uint16_t number = 0;
};

/* When this thread last left a call whose time was counted. */
constinit thread_local std::int64_t left_last_ns = 0;

struct Recorder {
    std::mutex mutex;
    CallLog log;
    std::size_t capacity = 0;
    std::array<Site, site_slots> sites{};
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

void number(CommunicatorState& state, MPI_Comm comm, Recorder& to) {
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    auto& own = state.recorded.number;
    own = inter != 0 ? between_groups : alone;
    if (inter != 0 || state.ranks < 2) return;
    own = one_too_many;
    if (to.log.communicators.size() == communicators_max) return;
    own = static_cast<int>(to.log.communicators.size());
    to.log.communicators.push_back({id_of(state, comm), state.rank, state.ranks, {}});
}

/* A test begins with the pause before it, if that was waiting, and so perhaps within another call.
 */
void count_time(std::int64_t entry_ns, std::int64_t exit_ns, Recorder& to) {
    to.log.in_calls_ns += exit_ns - std::max(entry_ns, left_last_ns);
    left_last_ns = exit_ns;
}

bool is_kept(const LoggedCall& call, const CallLog& log) {
    return profile::is_chosen(log.communicators[call.communicator].id, call.call, log.halvings);
}

void add(const LoggedCall& call, Recorder& to) {
    auto& log = to.log;
    if (call.communicator == unlisted || !is_kept(call, log)) {
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

/* The state of a call's communicator, which has a number now. While it lives nobody else uses the
   recorder. No state: the call is none of those that are recorded. */
struct Numbered {
    CommunicatorState *state = nullptr;
    std::unique_lock<std::mutex> lock;
};

Numbered numbered_state(const collectives::Call& call, Recorder& to) {
    if (call.comm == MPI_COMM_NULL || to.capacity == 0) return {};
    auto *state = collectives::state_for(call.collective, call.comm);
    if (!state) return {};
    std::unique_lock lock(to.mutex);
    if (!recording) return {};
    if (state->recorded.number == -1) number(*state, call.comm, to);
    if (is_neighborhood(call.collective)) learn_neighbors(*state, call.comm);
    return {state, std::move(lock)};
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
    if (recorded.number < 0 && recorded.number != one_too_many) return std::nullopt;
    LoggedCall begun{};
    begun.call = recorded.calls++;
    begun.root = call.root;
    begun.communicator = unlisted;
    begun.site = number_of(site, to);
    begun.collective = call.collective;
    begun.form = form;
    if (recorded.number == one_too_many) return begun;
    begun.communicator = static_cast<std::uint32_t>(recorded.number);
    begun.bytes = call_bytes(call, *on.state);
    note_sources(call, *on.state, to.log.communicators[begun.communicator]);
    return begun;
}

/* Lists a persistent request as if it were a communicator of its own. */
std::uint32_t list_request(const collectives::Call& call, CommunicatorState& state, Recorder& to) {
    auto& listed = to.log.communicators;
    if (state.recorded.number == one_too_many || listed.size() == communicators_max) {
        return unlisted;
    }
    const auto& of = listed[static_cast<std::size_t>(state.recorded.number)];
    LoggedCommunicator own{fnv1a(~of.id, ++state.recorded.persistent), of.rank, of.ranks, {}};
    note_sources(call, state, own);
    listed.push_back(std::move(own));
    return static_cast<std::uint32_t>(listed.size() - 1);
}

}  // namespace

bool is_logging() {
    return recording && recorder().capacity != 0;
}

bool took_part(int code) {
    if (code == MPI_SUCCESS) return true;
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(code, &error_class);
    return error_class == MPI_ERR_TRUNCATE;
}

bool prepare_log(std::size_t capacity) {
    auto& to = recorder();
    try {
        to.log = {};
        to.sites = {};
        to.log.calls.reserve(capacity);
        to.log.sites.reserve(sites_max);
        to.log.sites.push_back(nullptr);
        to.log.communicators.reserve(64);
    } catch (const std::exception&) {
        return false;  // more than there is, or than a vector may have
    }
    to.capacity = capacity;
    return true;
}

CallLog take_log() {
    const std::scoped_lock lock(recorder().mutex);
    return std::move(recorder().log);
}

std::uint64_t count_unplaced(const CallLog& log) {
    const auto count =
        std::ranges::count_if(log.calls, [](const LoggedCall& call) { return call.site == 0; });
    return static_cast<std::uint64_t>(count);
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
    count_time(entry_ns, exit_ns, to);
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
    if (!state) return std::nullopt;
    const int number = state->recorded.number;
    if (number == between_groups || number == alone) return std::nullopt;
    LoggedCall prepared{};
    prepared.communicator = list_request(call, *state, to);
    prepared.bytes = call_bytes(call, *state);
    prepared.root = call.root;
    prepared.collective = call.collective;
    prepared.form = profile::Form::persistent;
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

void add_time_in_calls(std::int64_t entry_ns, std::int64_t exit_ns) {
    auto& to = recorder();
    const std::scoped_lock lock(to.mutex);
    if (recording) count_time(entry_ns, exit_ns, to);
}

}  // namespace lanewise::tuned
