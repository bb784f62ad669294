// SPDX-License-Identifier: BSD-3-Clause
//
// Definitions: how other tools measure what is an operation here.
//
// A tool runs an operation in a loop, and prints one number of it. What differs
// between tools, and between the benchmarks of one, is in a Loop, as data: how
// often it warms up and repeats, where it reads the clock, whether the ranks meet
// between the calls, and which number of those of all ranks it prints. The facts
// are from the tools' manuals and papers, and from watching which MPI functions
// the tools call. A tool is one file of this folder and one line in registry.cpp.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/harness/harness.hpp"
#include "measure/harness/operation.hpp"

namespace lanewise::measure {

/* The calls of one loop: those before the clock is read, and those of which the mean is taken. */
struct Calls {
    std::uint32_t warm_up = 0;
    std::uint32_t timed = 1;
};

enum class Clocked {
    around_all,  /* read before the first and after the last call */
    around_each, /* read before and after each call; the times are added */
    around_both  /* as around_all, with the readings around each call within the time */
};

enum class Across {
    mean,    /* of the ranks' means */
    first,   /* the root's, for benchmarks of pairs */
    senders, /* the mean of the ranks' means, of the first half of the ranks */
    slowest  /* that of the rank with the longest mean */
};

struct Loop {
    Clocked clocked = Clocked::around_all;
    Across across = Across::mean;
    bool meets = false; /* the MPI's barrier follows each call, and is not timed */
    int series = 1;     /* loops for one number, of which the shortest counts */
    /* `call_s` is about how long one call takes; the size is as the tool counts it. */
    Calls (*calls)(std::uint64_t message_bytes, double call_s) = nullptr;
    Manner manner = {};
    bool whole_vector = false; /* a size is that of the vector of all ranks' blocks */
    bool overlaps = false;     /* alone, then with as much work before it is waited for */
};

struct Definition {
    const char *name; /* what --as calls it */
    const char *tool; /* its name and the version that is meant */
    int window;       /* messages in flight where it streams */
    /* How the tool measures an operation; null where it has no such benchmark. */
    const Loop *(*loop_of)(const std::string& operation);
};

std::span<const Definition *const> definitions();

/* What the ranks found in some runs of a loop; the same on every rank. Times of one call. */
struct LoopTimes {
    std::vector<double> shown_s; /* the number that the tool prints, one for each run */
    std::vector<double> least_s; /* of the ranks' means, the shortest */
    std::vector<double> most_s;  /* and the longest */
    std::vector<double> pure_s;  /* where work overlaps: without it, of the slowest rank */
    std::vector<double> work_s;  /* and its work; the others are then what is added to that */
    bool failed = false;         /* the operation returned an error on some rank */
};

/* About how long a call takes on the slowest rank; the same on every rank. */
struct Probed {
    double call_s = 0.0;
    bool failed = false; /* the operation returned an error on some rank */
};

/* A few calls of what the loop calls, without the work that it overlaps: no more than fit into
   `room_s` where that is above 0, but one. Collective. */
Probed probe(const Harness& harness, Running& running, const Loop& loop, double room_s);

/* Runs the loop `count` times. Collective. */
LoopTimes run_loop(const Harness& harness, Running& running, const Loop& loop, Calls calls,
                   std::size_t count);

}  // namespace lanewise::measure
