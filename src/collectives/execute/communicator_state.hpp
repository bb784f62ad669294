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
#include <memory>
#include <span>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/program.hpp"
#include "collectives/execute/rank_placement.hpp"

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

struct State : std::enable_shared_from_this<State> {
    MPI_Comm comm = MPI_COMM_NULL; /* the private duplicate */
    int rank = 0;
    int ranks = 1;
    Located located;
    std::vector<KeptProgram> programs; /* a ring, the latest at `latest_program` */
    std::size_t latest_program = 0;
    std::vector<Rehearsed> rehearsed; /* likewise, and stays in its place */
    std::size_t latest_rehearsed = 0;
    std::vector<MPI_Request> requests; /* all null between two calls */
    std::vector<std::byte> scratch;
    Tags tags;

    State() = default;
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    const KeptProgram *find(const ProgramKey& key, std::span<const std::int64_t> counts,
                            std::span<const std::int64_t> offsets);
    const KeptProgram& keep(KeptProgram program);
    Rehearsed *find_rehearsed(const Call& call, const Choice& choice);
    Rehearsed& keep(Rehearsed rehearsed);
};

/* The state of `comm`, made at the first call, which is collective. Null where that fails. */
State *state_of(MPI_Comm comm);

}  // namespace lanewise::collectives
