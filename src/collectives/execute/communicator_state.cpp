// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/communicator_state.hpp"

#include <algorithm>
#include <atomic>

namespace lanewise::collectives {

constinit std::atomic<std::uint64_t> deaths{0};

namespace {

// Enough for the calls of an application's inner loop; more shapes push out the oldest.
constexpr std::size_t programs_max = 128;
constexpr std::size_t rehearsed_max = 16;

int destroy(MPI_Comm, int, void *attribute, void *) {
    deaths.fetch_add(1, std::memory_order_release);
    delete static_cast<std::shared_ptr<State> *>(attribute);
    return MPI_SUCCESS;
}

/* Adds `one`, in place of the oldest where the ring is full; returns where it stands. */
template <typename T>
std::size_t put_in_ring(std::vector<T>& ring, std::size_t latest, std::size_t most, T one) {
    if (ring.size() < most) {
        ring.push_back(std::move(one));
        return ring.size() - 1;
    }
    const auto at = (latest + 1) % most;
    ring[at] = std::move(one);
    return at;
}

int make_keyval() {
    int keyval = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, &keyval, nullptr);
    return keyval;
}

// The last communicator of this thread is nearly always the next one, too.
struct Last {
    MPI_Comm comm{};
    State *state = nullptr;
    std::uint64_t deaths = 0;
};
constinit thread_local Last last;

State *make(MPI_Comm comm, int keyval) {
    auto state = std::make_shared<State>();
    if (PMPI_Comm_dup(comm, &state->comm) != MPI_SUCCESS) return nullptr;
    PMPI_Comm_rank(comm, &state->rank);
    PMPI_Comm_size(comm, &state->ranks);
    state->located = locate(state->comm);
    auto held = std::make_unique<std::shared_ptr<State>>(state);
    if (PMPI_Comm_set_attr(comm, keyval, held.get()) != MPI_SUCCESS) return nullptr;
    return held.release()->get();
}

/* Apart from the way that nearly all calls go, which then needs no registers saved. */
[[gnu::noinline]] State *look_up(MPI_Comm comm) {
    static const int keyval = make_keyval();
    void *attribute = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm, keyval, &attribute, &found);
    auto *state =
        found ? static_cast<std::shared_ptr<State> *>(attribute)->get() : make(comm, keyval);
    last = {comm, state, deaths.load(std::memory_order_acquire)};
    return state;
}

}  // namespace

State::~State() {
    if (comm == MPI_COMM_NULL) return;
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (finalized == 0) PMPI_Comm_free(&comm);
}

const KeptProgram *State::find(const ProgramKey& key, std::span<const std::int64_t> counts,
                               std::span<const std::int64_t> offsets) {
    const auto matches = [&](const KeptProgram& kept) {
        return kept.key == key && std::ranges::equal(kept.counts, counts) &&
               std::ranges::equal(kept.offsets, offsets);
    };
    if (latest_program < programs.size() && matches(programs[latest_program])) {
        return &programs[latest_program];
    }
    for (std::size_t i = 0; i < programs.size(); ++i) {
        if (!matches(programs[i])) continue;
        latest_program = i;
        return &programs[i];
    }
    return nullptr;
}

const KeptProgram& State::keep(KeptProgram program) {
    latest_program = put_in_ring(programs, latest_program, programs_max, std::move(program));
    return programs[latest_program];
}

Rehearsed *State::find_rehearsed(const Call& call, const Choice& choice) {
    const auto found = std::ranges::find_if(
        rehearsed, [&](const Rehearsed& one) { return is_again(one, call, choice); });
    return found == rehearsed.end() ? nullptr : &*found;
}

Rehearsed& State::keep(Rehearsed one) {
    rehearsed.reserve(rehearsed_max);
    latest_rehearsed = put_in_ring(rehearsed, latest_rehearsed, rehearsed_max, std::move(one));
    return rehearsed[latest_rehearsed];
}

State *state_of(MPI_Comm comm) {
    const bool known = last.comm == comm && last.deaths == deaths.load(std::memory_order_acquire);
    return known && last.state ? last.state : look_up(comm);
}

}  // namespace lanewise::collectives
