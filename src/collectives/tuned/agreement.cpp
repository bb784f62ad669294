// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/agreement.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collectives/execute/execute.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/report.hpp"

namespace lanewise::tuned {
namespace {

using namespace collectives;

std::atomic<bool> world_found_agreed{false};

int forget(MPI_Comm, int, void *value, void *) {
    epoch.fetch_add(1, std::memory_order_relaxed);
    delete static_cast<Standing *>(value);
    return MPI_SUCCESS;
}

int key() {
    static const int instance = [] {
        int made = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr);
        return made;
    }();
    return instance;
}

bool has_world() {
    int initialized = 0;
    int finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

/* The first process speaks for all: of the world, or of `standing`'s where there is no world. */
bool speaks(const Standing& standing) {
    int rank = standing.rank;
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

std::string listed(const std::vector<int>& numbers) {
    std::string text = "[";
    for (const int number : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(number);
    return text + "]";
}

std::string why_partly(const Tuning& tuning, int ranks) {
    const auto& path = settings().tuning_path;
    if (ranks == 0 || ranks == tuning.ranks) return "";
    return path + " is for " + std::to_string(tuning.ranks) + " ranks, not " +
           std::to_string(ranks) + ": only communicators of " + std::to_string(tuning.ranks) +
           " ranks follow it";
}

/* What is wrong with the file as a whole is said once, at the first call. */
void open(const Standing& standing) {
    static std::once_flag once;
    std::call_once(once, [&] {
        if (!settings().report_path.empty()) arrange_report(speaks(standing));
        collectives::set_network(rules().network);
        if (!speaks(standing)) return;
        auto sentence = rules().complaint;
        if (!rules().usable) sentence += "; the MPI's own algorithms are used";
        if (sentence.empty()) sentence = why_partly(rules().tuning, world_size());
        if (!sentence.empty()) say(sentence);
    });
}

void say_once(const Standing& standing, const std::string& sentence) {
    static std::once_flag once;
    std::call_once(once, [&] {
        if (speaks(standing)) say(sentence);
    });
}

/* What each rank tells the others. */
struct Voice {
    std::uint64_t fingerprint;
    std::uint64_t host;
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

/* Ranks on each host, hosts in the order of their first ranks. */
std::vector<int> layout_of(const std::vector<Voice>& voices) {
    std::unordered_map<std::uint64_t, std::size_t> numbers;
    std::vector<int> layout;
    for (const auto& voice : voices) {
        const auto [host, unseen] = numbers.try_emplace(voice.host, layout.size());
        if (unseen) layout.push_back(0);
        ++layout[host->second];
    }
    return layout;
}

bool unanimous(const std::vector<Voice>& voices) {
    for (const auto& voice : voices) {
        if (voice.fingerprint != voices.front().fingerprint) return false;
    }
    return true;
}

/* Collective over `comm`. Whether the rules apply to it; the same answer on all its ranks. */
bool agree(MPI_Comm comm, const Standing& standing) {
    const Voice mine{fingerprint(), host_here()};
    std::vector<Voice> voices(static_cast<std::size_t>(standing.ranks));
    const int code = PMPI_Allgather(&mine, 2, MPI_UINT64_T, voices.data(), 2, MPI_UINT64_T, comm);
    if (code != MPI_SUCCESS) return false;
    const bool agreed = unanimous(voices);
    if (!agreed) {
        say_once(standing,
                 "the ranks read different tuning files or settings; the MPI's own algorithms are "
                 "used");
    }
    if (!agreed || voices.front().fingerprint == 0) return false;
    if (is_world(comm)) world_found_agreed = true;
    if (standing.ranks != rules().tuning.ranks) return false;
    const auto layout = layout_of(voices);
    if (layout == rules().tuning.layout) return true;
    say_once(standing, settings().tuning_path + " is for ranks on hosts as " +
                           listed(rules().tuning.layout) + ", these are as " + listed(layout) +
                           ": they keep the MPI's own algorithms");
    return false;
}

bool has_nonblocking_rules() {
    const auto& all = rules().tuning.rules;
    return std::any_of(all.begin() + collective_count, all.end(),
                       [](const auto& list) { return !list.empty(); });
}

std::unique_ptr<Standing> assess(MPI_Comm comm) {
    auto standing = std::make_unique<Standing>();
    int between = 0;
    PMPI_Comm_test_inter(comm, &between);
    if (between != 0) return standing;
    PMPI_Comm_rank(comm, &standing->rank);
    PMPI_Comm_size(comm, &standing->ranks);
    open(*standing);
    if (standing->ranks < 2) return standing;
    standing->follows = agree(comm, *standing);
    const bool reports = !settings().report_path.empty();
    for (std::size_t o = 0; o < standing->concerns.size(); ++o) {
        const bool ruled = standing->follows && !rules().tuning.rules[o].empty();
        standing->concerns[o] = ruled || reports;
    }
    // A nonblocking call could not make it without waiting for the others.
    if (standing->follows && has_nonblocking_rules()) get_ready(comm);
    return standing;
}

Standing *find_or_assess(MPI_Comm comm, Calling calling) {
    void *value = nullptr;
    int found = 0;
    if (PMPI_Comm_get_attr(comm, key(), &value, &found) != MPI_SUCCESS) return nullptr;
    if (found != 0) return static_cast<Standing *>(value);
    if (calling == Calling::nonblocking) return nullptr;
    auto standing = assess(comm);
    PMPI_Comm_set_attr(comm, key(), standing.get());
    return standing.release();
}

bool may_be_asked(MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) return false;
    return (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) || has_world();
}

}  // namespace

constinit bool active = false;
constinit thread_local bool inside = false;

constinit std::atomic<std::uint64_t> epoch{1};
constinit thread_local std::array<Remembered, remembered_count> memory{};

Standing *concerned(Operation operation, MPI_Comm comm) {
    if (!active || inside) return nullptr;
    auto& place = place_of(comm);
    const auto now = epoch.load(std::memory_order_relaxed);
    if (place.comm != comm || place.epoch != now) {
        Standing *found = may_be_asked(comm) ? find_or_assess(comm, operation.calling) : nullptr;
        if (!found) return nullptr;
        // Freeing another communicator meanwhile is no harm; this one is in use.
        place = {comm, now, found};
    }
    const bool looked_at = place.standing->concerns[operation.index()];
    return looked_at ? place.standing : nullptr;
}

bool world_agrees() {
    return world_found_agreed;
}

}  // namespace lanewise::tuned
