// SPDX-License-Identifier: BSD-3-Clause
//
// Checker: proves that schedules do what their collective promises, or says in a sentence what is
// wrong.
//
// All ranks are simulated with symbols for data: a unit is known by the rank that gave it and its
// index there, a reduced unit by the expression that made it. First, on each rank, the order of
// steps must never leave two of them at the same memory if one writes. A schedule without such
// races is determinate (it is a Kahn network: G. Kahn, IFIP 1974), so one simulated run stands for
// all: a run in which a send ends only when its receive has begun finds every deadlock, and the
// data it delivers are those of every other run.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/neighborhood.hpp"

namespace lanewise::collectives {

/* A call on all ranks. */
struct Trial {
    Collective collective = Collective::barrier;
    int ranks = 1;
    int root = 0;
    std::int64_t count = 0; /* units of a block, or of the vector */
    /* v-collectives, reduce_scatter; else empty. In an uneven exchange the block of rank s for rank
       r is number s * ranks + r, and lies at one offset in both buffers. */
    std::vector<std::int64_t> counts = {};
    std::vector<std::int64_t> offsets = {}; /* with counts */
    /* In a neighborhood, which has counts by edge. Several edges from one rank to another match in
       their order. Offsets are of what is received, these of what is sent. */
    std::vector<Edge> edges = {};
    std::vector<std::int64_t> send_offsets = {};
    bool all_counts = true; /* off the root of scatterv and gatherv */
    bool in_place = false;  /* where MPI_IN_PLACE is allowed, send is receive */
    bool in_order = true;   /* the operator does not commute */
    Bracketing bracketing = Bracketing::unspecified; /* that results must have; needs in_order */
    std::int64_t segment = 0;
    int lanes = 1;
    std::vector<int> hosts = {}; /* of each rank, as in CallShape */
    std::vector<int> sites = {};
    const model::Network *network = nullptr;

    /* The number of a block of an uneven exchange. */
    std::size_t block(int from, int to) const {
        return static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
               static_cast<std::size_t>(to);
    }
};

/* A call in which all blocks are of `count` units and follow one another; neighbors are those of a
   grid. */
Trial even_trial(Collective collective, int ranks, int root, std::int64_t count);

/* What a send waits for: its receive to begin, or nothing. */
enum class Sends { rendezvous, eager };

/* Calls `use` with the shape that `rank` sees of a trial; what a rank cannot know is nonsense. */
void with_shape(const Trial& trial, int rank, const std::function<void(const CallShape&)>& use);

/* The schedules of all ranks. */
std::vector<model::Schedule> schedules_of(const Algorithm& algorithm, const Trial& trial);

/* Keeps its memory from one proof to the next. */
class Checker {
  public:
    Checker();
    ~Checker();

    /* What is wrong with the schedules, in a sentence; empty if nothing is. */
    std::string fault(const Trial& trial, std::span<const model::Schedule> schedules, Sends sends);

  private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

}  // namespace lanewise::collectives
