// SPDX-License-Identifier: BSD-3-Clause
//
// Standing: what is decided once for a communicator: whether all its ranks read
// the same rules, and whether their number and their places are those that the
// rules were measured for. The ranks agree on it inside the first blocking
// collective call that is intercepted, where they all are anyway; a nonblocking
// one before that must not wait for anybody and passes. It is kept as an
// attribute, and beside it in a small cache of each thread, because looking up
// an attribute takes longer than deciding.

#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "collectives/algorithm.hpp"

namespace lanewise::tuned {

using collectives::Calling;
using collectives::Collective;
using collectives::Operation;
using collectives::operation_count;

struct Standing {
    int rank = 0;
    int ranks = 1;
    bool follows = false;                         /* the rules apply here */
    std::array<bool, operation_count> concerns{}; /* calls that must be looked at */
    std::array<std::atomic<std::uint32_t>, operation_count> followed{}; /* calls under a rule */
};

/* LANEWISE_TUNING is set. Written once, when the library is loaded. */
extern constinit bool active;

/* Whether this thread is inside an intercepted call already. */
extern constinit thread_local bool inside;

/* What a thread remembers of a communicator, until any communicator is freed. */
struct Remembered {
    MPI_Comm comm;
    std::uint64_t epoch; /* 0: nothing is remembered here */
    Standing *standing;
};
inline constexpr std::size_t remembered_count = 8;
extern constinit thread_local std::array<Remembered, remembered_count> memory;

/* Counts freed communicators. */
extern constinit std::atomic<std::uint64_t> epoch;

inline Remembered& place_of(MPI_Comm comm) {
    const auto mixed = std::hash<MPI_Comm>{}(comm)*0x9e3779b97f4a7c15U;
    return memory[mixed >> 61];
}

/* Whether it is known already that a call need not be looked at: most calls end here. */
inline bool passes(Operation operation, MPI_Comm comm) {
    if (!active) return true;
    const auto& place = place_of(comm);
    return place.comm == comm && place.epoch == epoch.load(std::memory_order_relaxed) &&
           !place.standing->concerns[operation.index()];
}

/* The standing of `comm`, if a call of `operation` on it must be looked at; else null. */
Standing *concerned(Operation operation, MPI_Comm comm);

/* Whether all ranks of MPI_COMM_WORLD were found to follow the same rules and settings. */
bool world_agrees();

}  // namespace lanewise::tuned
