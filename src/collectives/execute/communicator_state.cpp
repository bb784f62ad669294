// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/communicator_state.hpp"

#include <algorithm>

namespace lanewise::collectives {

constinit std::atomic<std::uint64_t> generation{1};

namespace {

// Enough for the calls of an application's inner loop; further shapes replace the oldest.
constexpr std::size_t programs_max = 128;

int drop(MPI_Comm, int, void *attribute, void *) {
    generation.fetch_add(1, std::memory_order_release);
    delete static_cast<std::shared_ptr<CommunicatorState> *>(attribute);
    return MPI_SUCCESS;
}

int keyval() {
    static const int instance = [] {
        int made = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &made, nullptr);
        return made;
    }();
    return instance;
}

}  // namespace

CommunicatorState::~CommunicatorState() {
    if (duplicate == MPI_COMM_NULL) return;
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (finalized == 0) PMPI_Comm_free(&duplicate);
}

const KeptProgram *CommunicatorState::find(const ProgramKey& key,
                                           std::span<const std::int64_t> counts,
                                           std::span<const std::int64_t> offsets) {
    const auto matches = [&](const KeptProgram& kept) {
        return kept.key == key && std::ranges::equal(kept.counts, counts) &&
               std::ranges::equal(kept.offsets, offsets);
    };
    if (latest_program < programs.size() && matches(programs[latest_program])) {
        return &programs[latest_program];
    }
    const auto found = std::ranges::find_if(programs, matches);
    if (found == programs.end()) return nullptr;
    latest_program = static_cast<std::size_t>(found - programs.begin());
    return &*found;
}

const KeptProgram& CommunicatorState::keep(KeptProgram program) {
    if (programs.size() < programs_max) {
        latest_program = programs.size();
        programs.push_back(std::move(program));
    } else {
        latest_program = (latest_program + 1) % programs_max;
        programs[latest_program] = std::move(program);
    }
    return programs[latest_program];
}

CommunicatorState *state_of(MPI_Comm comm) {
    void *attribute = nullptr;
    int found = 0;
    if (PMPI_Comm_get_attr(comm, keyval(), &attribute, &found) != MPI_SUCCESS) return nullptr;
    if (found) return static_cast<std::shared_ptr<CommunicatorState> *>(attribute)->get();
    auto state = std::make_shared<CommunicatorState>();
    PMPI_Comm_rank(comm, &state->rank);
    PMPI_Comm_size(comm, &state->ranks);
    auto held = std::make_unique<std::shared_ptr<CommunicatorState>>(std::move(state));
    if (PMPI_Comm_set_attr(comm, keyval(), held.get()) != MPI_SUCCESS) return nullptr;
    return held.release()->get();
}

void learn_neighbors(CommunicatorState& state, MPI_Comm comm) {
    if (state.knows_neighbors) return;
    state.neighbors = neighbors_in(comm);
    state.knows_neighbors = true;
}

bool has_ranks_of_world(MPI_Comm comm) {
    int initialized = 0;
    int finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    if (initialized == 0 || finalized != 0) return false;
    int relation = MPI_UNEQUAL;
    PMPI_Comm_compare(comm, MPI_COMM_WORLD, &relation);
    return relation == MPI_IDENT || relation == MPI_CONGRUENT;
}

int prepare_to_execute(CommunicatorState& state, MPI_Comm comm) {
    if (state.duplicate != MPI_COMM_NULL) return MPI_SUCCESS;
    MPI_Group group = MPI_GROUP_NULL;
    int code = PMPI_Comm_group(comm, &group);
    if (code != MPI_SUCCESS) return code;
    code = PMPI_Comm_create(comm, group, &state.duplicate);
    PMPI_Group_free(&group);
    if (code != MPI_SUCCESS) {
        state.duplicate = MPI_COMM_NULL;
        return code;
    }
    PMPI_Comm_set_errhandler(state.duplicate, MPI_ERRORS_RETURN);
    state.placement = rank_placement(state.duplicate);
    state.has_ranks_of_world = has_ranks_of_world(state.duplicate);
    learn_neighbors(state, comm);
    return state.neighbors ? tell_of_repeats(*state.neighbors, state.duplicate) : MPI_SUCCESS;
}

}  // namespace lanewise::collectives
