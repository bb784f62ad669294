// SPDX-License-Identifier: BSD-3-Clause
//
// ProfileFile: profile.json (schema/profile.schema.json), from what the ranks found together.

#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "collectives/profile/attribution.hpp"
#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/call_site.hpp"

namespace lanewise::tuned {

/* What one rank says of itself. */
struct ProcessSummary {
    std::array<char, MPI_MAX_PROCESSOR_NAME> host{};
    std::int64_t elapsed_ns = 0;  /* from the end of MPI_Init to the beginning of MPI_Finalize */
    std::int64_t in_calls_ns = 0; /* of that, in collective calls */
    std::int64_t drift_ns = 0;    /* of its clock against that of rank 0 */
    std::uint64_t recorded = 0;
    std::uint64_t unplaced = 0; /* of these */
    Unrecorded unrecorded;
};

/* A part and its sums, as they travel between ranks. */
struct PartSums {
    profile::Part part;
    profile::Sums sums;

    PartSums() = default;
    PartSums(const std::pair<const profile::Part, profile::Sums>& entry)
        : part(entry.first), sums(entry.second) {}
};

struct ProfileContent {
    int halvings = 0;
    std::vector<CallSite> sites;
    std::vector<ProcessSummary> processes; /* by rank */
    std::map<profile::Part, profile::Sums> parts;
    std::uint64_t incomplete_records = 0;
    std::uint64_t mismatched_records = 0;
};

lanewise::Outcome write_profile(const std::string& path, const ProfileContent& content);

}  // namespace lanewise::tuned
