// SPDX-License-Identifier: BSD-3-Clause
//
// State: what is kept with a communicator: the private duplicate that messages
// travel on, the programs built for it, and memory for them to work in. It is
// an attribute of the communicator and dies with it, or with the last call that
// was still in flight then.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/execute/located.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/* What a program depends on, besides the communicator. */
struct ProgramKey {
    const Algorithm *algorithm = nullptr;
    int root = 0;
    int lanes = 1;
    std::int64_t count = 0;
    std::int64_t unit_bytes = 1;
    std::int64_t stride_bytes = 1;
    std::int64_t segment = 0;

    bool operator==(const ProgramKey&) const = default;
};

struct KeptProgram {
    ProgramKey key;
    std::vector<std::int64_t> counts; /* as in Shape, for those that have them */
    std::vector<std::int64_t> offsets;
    std::shared_ptr<const Program> program; /* null: this shape is not served */
};

/*
 * A call that needed nothing but its pointers put in: predefined types without
 * gaps, one count for all ranks, not in place. An inner loop makes the same
 * call again and again, and then nothing is worked out anew.
 */
struct Repeated {
    const Algorithm *algorithm = nullptr;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
    int root = 0;
    bool sends = true;    /* what it sends is significant on this rank */
    bool receives = true; /* likewise */
    MPI_Count send_count = 0;
    MPI_Count receive_count = 0;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    MPI_Datatype receive_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
};

struct Rehearsed {
    Repeated call;
    std::shared_ptr<const Program> program;
    std::size_t scratch_bytes = 0;
    Setting setting; /* the pointers are put in by each call */
};

struct State : std::enable_shared_from_this<State> {
    MPI_Comm comm = MPI_COMM_NULL; /* the private duplicate */
    int rank = 0;
    int ranks = 1;
    Located located;
    std::vector<KeptProgram> programs; /* a ring, the latest at `latest` */
    std::size_t latest = 0;
    std::vector<Rehearsed> rehearsed; /* a ring, which stays in its place */
    Rehearsed *latest_rehearsed = nullptr;
    std::vector<MPI_Request> requests; /* all null between two calls */
    std::vector<std::byte> scratch;
    unsigned sequence = 0;

    State() = default;
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    /* Operations on one communicator begin in the same order everywhere, so tags agree. */
    int next_tag() { return static_cast<int>(sequence++ & 0x7fffU); }
    const KeptProgram *find(const ProgramKey& key, std::span<const std::int64_t> counts,
                            std::span<const std::int64_t> offsets);
    const KeptProgram& keep(KeptProgram program);
    /* The first for which `is_it`, the latest before the others; null where there is none. */
    template <typename Predicate>
    Rehearsed *find_rehearsed(Predicate is_it) {
        if (latest_rehearsed && is_it(latest_rehearsed->call)) return latest_rehearsed;
        for (Rehearsed& one : rehearsed) {
            if (is_it(one.call)) return latest_rehearsed = &one;
        }
        return nullptr;
    }
    void keep(Rehearsed rehearsed);
};

/* The state of `comm`, made at the first call, which is collective. Null where that fails. */
State *state_of(MPI_Comm comm);

}  // namespace lanewise::collectives
