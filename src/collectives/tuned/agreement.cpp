// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/agreement.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbering.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/tuned/device_memory.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/report.hpp"
#include "collectives/tuned/roll_call.hpp"
#include "collectives/tuned/switch.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;

std::atomic<bool> world_found_agreed{false};

/* One process writes messages for all: the first of those that started together, whether they have
   a world or sessions. */
bool writes_messages() {
    int rank = rank_among_all();
    if (has_world()) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

int world_size() {
    int size = 0;
    if (has_world()) PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

bool is_world(MPI_Comm comm) {
    int relation = MPI_UNEQUAL;
    if (has_world()) PMPI_Comm_compare(comm, MPI_COMM_WORLD, &relation);
    return relation != MPI_UNEQUAL;
}

/* Whether so many ranks may follow what was measured, as far as their number goes. */
bool may_follow(const Tuning& tuning, int ranks) {
    return std::ranges::any_of(tuning.layouts, [&](const LayoutTuning& one) {
        return one.ranks() == ranks ||
               (!one.in_any_order && one.ranks() <= 2 * ranks && ranks <= 2 * one.ranks());
    });
}

/* Why only some communicators of a job follow the file; empty if the world does, or nobody knows.
 */
std::string why_some_only(const Tuning& tuning, int ranks) {
    const auto& path = environment().tuning_path;
    if (ranks == 0 || may_follow(tuning, ranks)) return "";
    std::string counts;
    for (const auto& one : tuning.layouts) {
        counts += (counts.empty() ? "" : ", ") + std::to_string(one.ranks());
    }
    return path + " is for " + counts + " ranks, not " + std::to_string(ranks) +
           ": only communicators of about as many ranks follow it";
}

/* At the first call: says what is wrong with the file as a whole. */
void begin_once() {
    static std::once_flag once;
    std::call_once(once, [&] {
        begin_report();
        if (!writes_messages()) return;
        const bool ruled = !environment().tuning_path.empty();
        auto sentence = rules().complaint;
        if (!rules().platform) sentence += rules().consequence;
        if (ruled && !rules().usable) sentence += "; the MPI's own algorithms are used";
        if (ruled && sentence.empty()) sentence = why_some_only(rules().tuning, world_size());
        if (!sentence.empty()) say(sentence);
    });
}

void complain_once(const std::string& sentence) {
    static std::once_flag once;
    std::call_once(once, [&] {
        if (writes_messages()) say(sentence);
    });
}

/* What each rank reports to the others. */
struct RankReport {
    std::uint64_t fingerprint;
    std::uint64_t host;
    std::uint64_t devices;   /* 1: a driver of them is loaded */
    std::uint64_t same_bits; /* as asked for */
};

std::uint64_t host_here() {
    static const std::uint64_t instance = [] {
        char name[MPI_MAX_PROCESSOR_NAME] = "";
        int length = 0;
        PMPI_Get_processor_name(name, &length);
        return std::uint64_t{std::hash<std::string_view>{}(name)};
    }();
    return instance;
}

Hosts hosts_of(const std::vector<RankReport>& all) {
    Numbering<std::uint64_t> numbering;
    Hosts hosts;
    for (const auto& one : all) hosts.push_back(numbering.of(one.host));
    return hosts;
}

/* The network is indexed by ranks of the world, and these are as many as the job has, whatever the
   layouts of the file have. Ranks that read the same platform make the same of it. */
bool has_ranks_of_network(const CommunicatorState& state, MPI_Comm comm) {
    const auto& platform = rules().platform;
    if (!platform || !collectives::has_ranks_of_world(comm)) return false;
    static const bool is_known = [&] {
        auto network = model::network(*platform, "", state.ranks);
        if (network) {
            collectives::set_network(std::make_shared<const model::Network>(std::move(*network)));
        } else if (state.interception.tuned) {
            say_once(network.failure().sentence + rules().consequence);
        }
        return static_cast<bool>(network);
    }();
    return is_known;
}

bool have_same_rules(const std::vector<RankReport>& all) {
    return std::ranges::all_of(
        all, [&](const RankReport& one) { return one.fingerprint == all.front().fingerprint; });
}

SameBits wanted_by_all(const std::vector<RankReport>& all) {
    const auto wanted = all.front().same_bits;
    const bool agreed =
        std::ranges::all_of(all, [&](const RankReport& one) { return one.same_bits == wanted; });
    return agreed ? static_cast<SameBits>(wanted) : SameBits::unasked;
}

/* Whether something was measured with so many ranks. */
bool is_for(const Tuning& tuning, int ranks) {
    return std::ranges::any_of(tuning.layouts,
                               [&](const LayoutTuning& one) { return one.ranks() == ranks; });
}

std::string layouts_of(const Tuning& tuning) {
    std::string text;
    for (const auto& one : tuning.layouts) text += (text.empty() ? "" : "; ") + text_of(one.hosts);
    return text;
}

/* Collective over `comm`. Whether the rules apply to it, with the same answer on all its ranks. */
bool agree(CommunicatorState& state, MPI_Comm comm) {
    const RankReport mine{fingerprint(), host_here(), has_devices() ? 1U : 0U,
                          static_cast<std::uint64_t>(environment().same_bits)};
    std::vector<RankReport> all(static_cast<std::size_t>(state.ranks));
    constexpr int words = sizeof mine / sizeof(std::uint64_t);
    const int code =
        PMPI_Allgather(&mine, words, MPI_UINT64_T, all.data(), words, MPI_UINT64_T, comm);
    if (code != MPI_SUCCESS) return false;
    state.interception.has_devices =
        std::ranges::any_of(all, [](const RankReport& one) { return one.devices != 0; });
    state.interception.same_bits = wanted_by_all(all);
    const bool agreed = have_same_rules(all);
    if (!agreed) {
        complain_once(
            "the ranks read different tuning files or settings; the MPI's own algorithms are "
            "used");
    }
    if (!agreed || all.front().fingerprint == 0) return false;
    if (is_world(comm)) world_found_agreed = true;
    const auto hosts = hosts_of(all);
    state.interception.tuned = nearest(rules().tuning, hosts);
    state.interception.has_network = has_ranks_of_network(state, comm);
    if (state.interception.tuned) return true;
    const bool expected = is_for(rules().tuning, state.ranks) ||
                          (state.ranks == world_size() && may_follow(rules().tuning, state.ranks));
    if (expected) {
        complain_once(environment().tuning_path + " is for " + layouts_of(rules().tuning) +
                      ", these are " + text_of(hosts) + ": they keep the MPI's own algorithms");
    }
    return false;
}

/* The program that sets rules runs on every rank, and the ranks set the same ones. */
void follow_switch(CommunicatorState& state, MPI_Comm comm) {
    static std::once_flag once;
    std::call_once(once, [&] {
        const auto& path = environment().platform_path;
        if (path.empty()) return;
        const auto network = model::read_network(path, state.ranks);
        if (network) collectives::set_network(*network);
    });
    state.interception.follows_rules = state.ranks > 1;
    state.interception.concerns.fill(true);
    prepare_to_execute(state, comm);
}

void leave_out(Interception& found) {
    found.follows_rules = false;
    found.same_bits = SameBits::unasked;
    found.is_left_out = true;
    say_too_many();
}

bool has_nonblocking_rules(const LayoutTuning& tuning) {
    const auto& all = tuning.rules;
    return std::any_of(all.begin() + collective_count, all.end(),
                       [](const auto& list) { return !list.empty(); });
}

}  // namespace

bool has_world() {
    int initialized = 0;
    int finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

void begin_report() {
    if (!active || !reports() || is_switched()) return;
    // What a program spawns would write the same file.
    const bool writes = writes_messages() && !(has_world() && is_spawned());
    prepare_report(writes ? ReportWriter::this_process : ReportWriter::another);
}

void compare_rules(CommunicatorState& state, MPI_Comm comm) {
    auto& found = state.interception;
    found.compared = true;
    int between_groups = 0;
    PMPI_Comm_test_inter(comm, &between_groups);
    found.is_left_out = between_groups != 0 || (state.ranks > 1 && !started_together(comm));
    if (between_groups != 0) return;
    if (is_switched()) return follow_switch(state, comm);
    begin_once();
    // What a NaN and a zero become must be the same on one rank.
    if (state.ranks < 2 && environment().same_bits == SameBits::ranks) {
        found.same_bits = SameBits::ranks;
        found.has_devices = has_devices();
    }
    // Others would take part neither in this nor in anything that follows from it.
    if (state.ranks > 1) {
        found.follows_rules = is_everybody_here() && !found.is_left_out && agree(state, comm);
    }
    // A nonblocking call could not do it without waiting for the other ranks.
    const bool requested = found.follows_rules && has_nonblocking_rules(*found.tuned);
    if (requested || found.same_bits != SameBits::unasked) prepare_to_execute(state, comm);
    if (state.is_left_to_mpi) leave_out(found);
    for (std::size_t o = 0; o < found.concerns.size(); ++o) {
        const bool ruled = found.follows_rules && !found.tuned->rules[o].empty();
        const auto collective = static_cast<Collective>(o % collective_count);
        const bool ordered = found.same_bits != SameBits::unasked && is_reduction(collective);
        found.concerns[o] = ruled || ordered || (reports() && state.ranks > 1);
    }
}

void compare_early(MPI_Comm comm) {
    if (!active || inside || comm == MPI_COMM_NULL) return;
    if (environment().same_bits == SameBits::unasked) return;
    const Inside here;
    auto *state = state_of(comm);
    if (state && !state->interception.compared) compare_rules(*state, comm);
}

void agree_like(const CommunicatorState& original, CommunicatorState& state) {
    const auto& agreed = original.interception;
    auto& found = state.interception;
    found.compared = true;
    found.follows_rules = agreed.follows_rules;
    found.tuned = agreed.tuned;
    found.has_network = agreed.has_network;
    found.same_bits = agreed.same_bits;
    found.has_devices = agreed.has_devices;
    found.concerns = agreed.concerns;
}

void say_too_many() {
    say_once(
        "there are so many communicators that some keep the MPI's own algorithms; Lanewise "
        "executes calls on at most " +
        std::to_string(duplicates_max) + " at a time");
}

bool world_agrees() {
    return world_found_agreed;
}

}  // namespace lanewise::tuned
