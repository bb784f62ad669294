// SPDX-License-Identifier: BSD-3-Clause
//
// Observation: one measured point as the models see it, and the conditions
// that all points of a fit share. Read from samples.jsonl.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"

namespace lanewise::model {

/* What was timed; docs/model.md says each in words. */
enum class Experiment : std::uint8_t {
    pair,      /* a message there, one back: the whole round trip */
    triplet,   /* a message to each of two peers, one back from each */
    train,     /* train_length messages there, an empty one back after the last */
    send,      /* the sender's processor, sending */
    receive,   /* the receiver's processor, taking in a message that has arrived */
    collective /* a scatter, gather, bcast ... of the MPI's own */
};

struct Observation {
    Experiment experiment = Experiment::pair;
    std::string operation; /* as the file has it */
    int root = 0;          /* of an exchange: the rank whose clock it is */
    int peer = -1;
    int second_peer = -1;
    std::int64_t message_bytes = 0;
    std::int64_t reply_bytes = 0;
    double time_s = 0.0;          /* the median; of several launches, centre_of their medians */
    std::vector<double> sorted_s; /* all samples, in order of size */
    std::vector<std::vector<double>> launches_s = {}; /* by launch, where there are several */
};

/* The geometric mean, as in every table over launches: where the ranks are differently placed from
   launch to launch, the median of all samples would jump from size to size between the placements.
   The mean where one takes no time. */
double centre_of(std::span<const double> medians_s);

/* Where and with what the samples were measured. */
struct Conditions {
    int ranks = 0;
    std::vector<std::string> hosts; /* of each rank */
    std::vector<std::string> cpus;  /* that each rank may run on */
    std::string mpi_family;
    std::string mpi_library;
    std::string launcher;
    std::string kernel;
    std::string transport = {}; /* what --transport named; empty: the MPI's choice */
    std::string buffers = {};   /* as --buffers takes them; empty: as they are by default */
};

struct Observations {
    Conditions conditions;
    std::vector<Observation> all;

    bool has(Experiment experiment) const;
};

/* Reads files of one platform; refuses those of different ones, naming what differs. */
Result<Observations> read_observations(std::span<const std::string> paths);

/* The same from records in memory; `name` is what failures call them. */
Result<Observations> observations_of(std::span<const Json> records, const std::string& name);

}  // namespace lanewise::model
