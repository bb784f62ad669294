// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/communicator_state.hpp"

#include <algorithm>

namespace lanewise::collectives {

constinit std::atomic<std::uint64_t> generation{1};

namespace {

// Enough for the calls of an application's inner loop; further shapes replace the oldest. On many
// ranks a program may be long.
constexpr std::size_t programs_max = 128;
constexpr std::size_t programs_bytes_max = std::size_t{16} << 20;
constexpr std::size_t long_bytes_min = std::size_t{64} << 10;

std::size_t bytes_of(const KeptProgram& kept) {
    const auto blocks = kept.counts.size() + kept.offsets.size();
    return blocks * sizeof(std::int64_t) + (kept.program ? kept.program->bytes() : 0);
}

/* Leaves the latest, and of long ones as many as take little memory, but one in any case. */
void leave_latest(std::vector<KeptProgram>& programs) {
    std::size_t kept = 0;
    std::size_t long_bytes = 0;
    const auto is_dropped = [&](const KeptProgram& program) {
        const auto bytes = bytes_of(program);
        const bool is_long = bytes > long_bytes_min;
        const bool has_room = long_bytes == 0 || long_bytes + bytes <= programs_bytes_max;
        if (kept == programs_max || (is_long && !has_room)) return true;
        ++kept;
        if (is_long) long_bytes += bytes;
        return false;
    };
    const auto left = std::remove_if(programs.rbegin(), programs.rend(), is_dropped);
    programs.erase(programs.begin(), left.base());
}

std::atomic<int> duplicates{0}; /* of this process */

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
    if (finalized != 0) return;
    PMPI_Comm_free(&duplicate);
    duplicates.fetch_sub(1);
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
    programs.push_back(std::move(program));
    leave_latest(programs);
    latest_program = programs.size() - 1;
    return programs.back();
}

CommunicatorState *known_state_of(MPI_Comm comm) {
    void *attribute = nullptr;
    int found = 0;
    const int code = PMPI_Comm_get_attr(comm, keyval(), &attribute, &found);
    if (code != MPI_SUCCESS || found == 0) return nullptr;
    return static_cast<std::shared_ptr<CommunicatorState> *>(attribute)->get();
}

CommunicatorState *state_of(MPI_Comm comm) {
    if (auto *known = known_state_of(comm)) return known;
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

namespace {

/* The largest tag that this rank may use; attributes of the MPI are those of MPI_COMM_WORLD, which
   a process with sessions alone does not have. */
int tag_max() {
    int initialized = 0;
    int finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    if (initialized == 0 || finalized != 0) return promised_tag_max;
    const int *bound = nullptr;
    int found = 0;
    const int code = PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    return code == MPI_SUCCESS && found != 0 ? *bound : promised_tag_max;
}

/* Null where the MPI has no communicator left, which is no error of the program's. */
MPI_Comm duplicate_of(MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler of_program = MPI_ERRHANDLER_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    PMPI_Comm_get_errhandler(comm, &of_program);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int code = PMPI_Comm_group(comm, &group);
    if (code == MPI_SUCCESS) {
        code = PMPI_Comm_create(comm, group, &made);
        PMPI_Group_free(&group);
    }
    PMPI_Comm_set_errhandler(comm, of_program);
    PMPI_Errhandler_free(&of_program);
    return code == MPI_SUCCESS ? made : MPI_COMM_NULL;
}

/* What a rank tells the others, of which the least counts. */
struct Supply {
    int last_tag;
    int duplicates;
};

}  // namespace

int prepare_to_execute(CommunicatorState& state, MPI_Comm comm) {
    if (state.duplicate != MPI_COMM_NULL || state.is_left_to_mpi) return MPI_SUCCESS;
    const Supply mine{tag_max(), duplicates_max - duplicates.load()};
    Supply least{};
    const int code = PMPI_Allreduce(&mine, &least, 2, MPI_INT, MPI_MIN, comm);
    if (code != MPI_SUCCESS) return code;
    const auto made = least.duplicates > 0 ? duplicate_of(comm) : MPI_COMM_NULL;
    state.is_left_to_mpi = made == MPI_COMM_NULL;
    if (state.is_left_to_mpi) return MPI_SUCCESS;
    take_duplicate(state, made);
    state.tags.count_to(least.last_tag);
    state.placement = rank_placement(state.duplicate);
    state.has_ranks_of_world = has_ranks_of_world(state.duplicate);
    learn_neighbors(state, comm);
    return state.neighbors ? tell_of_repeats(*state.neighbors, state.duplicate) : MPI_SUCCESS;
}

void take_duplicate(CommunicatorState& state, MPI_Comm duplicate) {
    PMPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
    state.duplicate = duplicate;
    duplicates.fetch_add(1);
}

}  // namespace lanewise::collectives
