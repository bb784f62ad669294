// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/communicator_ids.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/fnv.hpp"
#include "collectives/tuned/call_log.hpp"

namespace lanewise::tuned {
namespace {

using collectives::CommunicatorState;

struct Ids {
    std::mutex mutex;
    /* How many communicators there were with the same ranks and tag, by these. */
    std::unordered_map<std::uint64_t, std::uint64_t> alike;
    /* Of communicators that nothing can be kept with yet. */
    std::unordered_map<MPI_Comm, std::uint64_t> later;
};

Ids& ids() {
    static Ids instance;
    return instance;
}

bool is_between_groups(MPI_Comm comm) {
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    return inter != 0;
}

/* The ranks of a communicator, in the world, as one number. */
std::uint64_t hash_of_ranks(MPI_Comm comm) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group own = MPI_GROUP_NULL;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(comm, &own);
    int ranks = 0;
    PMPI_Group_size(own, &ranks);
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

/* By how many there were that are told apart by nothing else. */
std::uint64_t next_alike(std::uint64_t hash, Ids& in) {
    return fnv1a(hash, in.alike[hash]++);
}

std::uint64_t known_id(CommunicatorState& state, MPI_Comm comm, Ids& in) {
    auto& id = state.recorded.id;
    if (id != 0) return id;
    if (const auto kept = in.later.extract(comm)) {
        id = kept.mapped();
    } else {
        id = next_alike(hash_of_ranks(comm), in);
    }
    return id;
}

/* Of the next communicator that all ranks of `parent` make of it, as far as that goes by them. */
std::uint64_t next_child(MPI_Comm parent, Ids& in) {
    auto *state = collectives::state_of(parent);
    if (!state) return 0;
    return fnv1a(known_id(*state, parent, in), ++state->recorded.children);
}

}  // namespace

Origin made_of(MPI_Comm parent) {
    constexpr std::uint64_t of_two_groups = ~std::uint64_t{0};
    if (!is_logging() || !is_between_groups(parent)) return {parent, 0};
    return {MPI_COMM_NULL, of_two_groups};
}

Origin made_by_group(std::string_view tag) {
    std::uint64_t hash = fnv1a_basis;
    for (const char letter : tag) hash = fnv1a(hash, static_cast<std::uint64_t>(letter));
    return {MPI_COMM_NULL, hash};
}

void give_id(MPI_Comm made, const Origin& origin) {
    if (!is_logging()) return;
    auto& in = ids();
    const std::scoped_lock lock(in.mutex);
    const bool has_parent = origin.parent != MPI_COMM_NULL;
    const auto child = has_parent ? next_child(origin.parent, in) : 0;
    if (made == MPI_COMM_NULL || is_between_groups(made)) return;
    auto *state = collectives::state_of(made);
    if (!state || state->ranks < 2 || state->recorded.id != 0) return;
    in.later.erase(made);
    const auto hash = hash_of_ranks(made);
    state->recorded.id = has_parent ? fnv1a(child, hash) : next_alike(fnv1a(~hash, origin.tag), in);
}

void give_id_later(MPI_Comm made, MPI_Comm parent) {
    if (!is_logging() || is_between_groups(parent)) return;
    auto& in = ids();
    const std::scoped_lock lock(in.mutex);
    in.later[made] = fnv1a(next_child(parent, in), hash_of_ranks(parent));
}

std::uint64_t id_of(CommunicatorState& state, MPI_Comm comm) {
    auto& in = ids();
    const std::scoped_lock lock(in.mutex);
    return known_id(state, comm, in);
}

}  // namespace lanewise::tuned
