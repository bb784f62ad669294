// SPDX-License-Identifier: BSD-3-Clause
//
// CommunicatorState: everything that is kept with a communicator. It is the value of one
// attribute, so it is freed with the communicator, or with the last call that was still in
// flight then. The part for executing calls (a private duplicate that the messages travel on, the
// programs compiled so far, memory for them to work in) is filled by the first call that is
// executed, because duplicating a communicator is collective.

#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/execute/call.hpp"
#include "collectives/execute/program.hpp"
#include "collectives/execute/rank_placement.hpp"
#include "collectives/execute/reserved_tags.hpp"
#include "collectives/execute/topology.hpp"

namespace lanewise::collectives {

struct LayoutTuning;
struct WatchedRules;

/* What a program depends on, besides the communicator. */
struct ProgramKey {
    const Algorithm *algorithm = nullptr;
    int root = 0;
    int lanes = 1;
    std::int64_t count = 0;
    UnitLayout units;
    std::int64_t segment = 0;
    Arithmetic arithmetic = Arithmetic::of_mpi;

    bool operator==(const ProgramKey&) const = default;
};

struct KeptProgram {
    ProgramKey key;
    std::vector<std::int64_t> counts; /* as in CallShape, for collectives that have them */
    std::vector<std::int64_t> offsets;
    std::shared_ptr<const Program> program; /* null: calls of this shape are not served */
};

/* MPI promises tags up to 32767. Half of them belong to persistent operations, which are started in
   any order. Those above count operations, which begin in the same order on every rank. */
constexpr int persistent_tags = 1 << 14;
constexpr int promised_tag_max = (1 << 15) - 1;

/* A tag that is used again while its first operation is under way mixes up their messages, so as
   many are used as the MPI has. */
class Tags {
  public:
    int next() {
        const int tag = next_;
        next_ = tag == last_ ? persistent_tags : tag + 1;
        return tag;
    }

    /* The same on all ranks; before the first tag. */
    void count_to(int last) { last_ = last; }
    int last() const { return last_; }

  private:
    int next_ = persistent_tags;
    int last_ = promised_tag_max;
};

/* Some MPIs have 2048 communicators, and most are left to the program. */
constexpr int duplicates_max = 512;

/* What the preloaded library knows of a communicator once its ranks have compared their rules. */
struct Interception {
    bool compared = false;
    bool follows_rules = false;
    const LayoutTuning *tuned = nullptr; /* the rules that it follows */
    bool has_network = false;            /* its ranks are those of the platform file, in order */
    SameBits same_bits = SameBits::unasked;
    bool is_left_out = false; /* two groups, or ranks about which nobody knows */
    bool has_devices = false; /* on some rank, so buffers may be device memory anywhere */
    std::array<bool, operation_count> concerns{}; /* operations that cannot simply be forwarded */
    std::array<std::atomic<std::uint32_t>, operation_count> ruled_calls{};
    std::shared_ptr<WatchedRules> watched; /* null: no rule yet */
};

/* What the preloaded library knows of a communicator whose calls it records. */
struct Recorded {
    int number = -1;            /* among those of this process; less than 0: none yet */
    std::uint64_t id = 0;       /* the same on all its ranks; 0: none yet */
    std::uint64_t children = 0; /* communicators that were made of it */
    std::uint64_t calls = 0;
    std::uint64_t persistent = 0; /* requests */
};

struct CommunicatorState : std::enable_shared_from_this<CommunicatorState> {
    int rank = 0;
    int ranks = 1;
    Interception interception;
    Recorded recorded;

    MPI_Comm duplicate = MPI_COMM_NULL; /* null: no call has been executed yet */
    bool is_left_to_mpi = false;        /* no duplicate can be made, so no call is executed */
    RankPlacement placement;
    bool knows_neighbors = false;
    std::optional<Neighbors> neighbors; /* none: there is no topology */
    bool has_ranks_of_world = false;    /* in their order, by which a network is indexed */
    std::vector<KeptProgram> programs;  /* the oldest first */
    std::size_t latest_program = 0;     /* that was asked for */
    std::vector<MPI_Request> requests;  /* all null between two calls */
    std::vector<std::byte> scratch;
    Tags tags;
    ReservedTags reserved_tags{0, persistent_tags};

    CommunicatorState() = default;
    ~CommunicatorState();
    CommunicatorState(const CommunicatorState&) = delete;
    CommunicatorState& operator=(const CommunicatorState&) = delete;

    const KeptProgram *find(const ProgramKey& key, std::span<const std::int64_t> counts,
                            std::span<const std::int64_t> offsets);
    const KeptProgram& keep(KeptProgram program);
};

/*
 * Grows when any communicator that has a state is freed. Whoever remembers a communicator by its
 * handle remembers this number too, because the MPI may give a freed handle to a new communicator.
 */
extern constinit std::atomic<std::uint64_t> generation;

/* The state of `comm`, which an intracommunicator or an intercommunicator may have. Local. Null:
   the MPI refused. */
CommunicatorState *state_of(MPI_Comm comm);

/* The same as far as it is there already, else null: for a thread that may meet others in calls on
   `comm`, of which each would make a state. Local. */
CommunicatorState *known_state_of(MPI_Comm comm);

/* Asks for the neighbors that a rank of `comm` has, unless it was done before. Local. */
void learn_neighbors(CommunicatorState& state, MPI_Comm comm);

/* Whether a communicator has the ranks of MPI_COMM_WORLD in their order. Local. */
bool has_ranks_of_world(MPI_Comm comm);

/*
 * Collective over `comm` unless it was done before. An MPI error code. Where a rank has
 * `duplicates_max` of them, or the MPI cannot make one more, all ranks find `is_left_to_mpi`. The
 * duplicate is not made by MPI_Comm_dup, which would run the program's callbacks for its
 * attributes.
 */
int prepare_to_execute(CommunicatorState& state, MPI_Comm comm);

/* Takes a duplicate that is there. Errors on it are returned: who called says them on the
   communicator of the program. Local. */
void take_duplicate(CommunicatorState& state, MPI_Comm duplicate);

}  // namespace lanewise::collectives
