// SPDX-License-Identifier: BSD-3-Clause
//
// The records of samples.jsonl (schema/samples.schema.json), and going on with
// an interrupted file.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "measure/availability/polling.hpp"
#include "measure/availability/post_work_wait.hpp"
#include "measure/bench.hpp"
#include "measure/session/arguments.hpp"

namespace lanewise::measure::session {

/* The part of the first line that follows from the arguments alone. */
Json how_measured(const Arguments& arguments);

/* Family, version and device of the MPI; asked before MPI_Init too. */
Json mpi_record();

/* The first line. Collective over MPI_COMM_WORLD; meaningful on rank 0. */
Json context_record(const Arguments& arguments, const measure::Bench& bench);

/* `definition` is the one whose loop was measured, or null. */
Json point_record(const std::string& operation, int launch, const measure::Measured& measured,
                  const measure::Definition *definition = nullptr);
Json clock_record(const lw_clock_report& report);
Json polling_record(const measure::PollingPlan& plan, const measure::Polled& polled);
Json post_work_wait_record(const measure::PostWorkWaitPoint& point);
Json end_record(std::size_t points, double elapsed_s);

/* What is measured in one go: an operation at one size, by a definition or isolated, or all
   pairings at one size. */
std::string task_key(const std::string& operation, std::uint64_t message_bytes,
                     const std::string& definition = "");
/* The same for polling in one interval, and for all amounts of work of post-work-wait. */
std::string polling_key(std::uint64_t message_bytes, double interval_s);
std::string waiting_key(std::uint64_t message_bytes);

/* How many points such a task makes: one, or one a pairing of `ranks`. */
std::size_t task_points(const std::string& operation, std::size_t ranks);

/* An interrupted file: the tasks of one launch that it holds whole, and where to go on writing. */
struct Unfinished {
    std::set<std::string> tasks;
    std::size_t keep_bytes = 0;
    std::size_t points = 0; /* of its records those of points */
    bool truncated = false;
};

/* Refuses a file measured under other conditions, naming the first that differs. */
Result<Unfinished> read_unfinished(const std::string& path, const Json& context, int launch);

}  // namespace lanewise::measure::session
