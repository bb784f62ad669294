// SPDX-License-Identifier: BSD-3-Clause
//
// The command line of lanewise-measure, read and checked without MPI.

#pragma once

#include <lanewise/measure.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "options/options.hpp"

namespace lanewise::measure {
struct Definition;
struct RoundTrip;
}  // namespace lanewise::measure

namespace lanewise::measure::session {

enum class Subject { operations, pair_rounds, clock, polling, post_work_wait };

struct Arguments {
    Subject subject = Subject::operations;
    const measure::RoundTrip *round_trip = nullptr; /* what is done in pairings */
    std::vector<std::string> operations;
    std::vector<std::string> libraries; /* LIBRARY.so:SYMBOL */
    std::vector<std::uint64_t> sizes_bytes;
    double tolerance = 0.0; /* adaptive sizes; 0: as listed */
    std::uint64_t stride_bytes_min = 1024;
    std::string reply = "same";
    lw_order order = LW_ORDER_PARALLEL;
    int root = 0;
    double wait_s = 0.0;
    double interval_first_s = 1e-6; /* polling: of work between two looks */
    double interval_last_s = 1e-2;
    std::uint32_t interval_count = 9;
    double work_s = 0.02;                            /* polling: of one repetition */
    int window = 160;                                /* of operations that stream */
    const measure::Definition *definition = nullptr; /* whose loop is measured too */
    std::vector<double> weights;
    lw_measure_options options = LW_MEASURE_OPTIONS;
    std::string output;
    bool validate = false;
    bool resume = false;
    bool events = false;
    bool plan = false;
    bool list = false;
    int ranks_expected = 0;
    int launch = 1; /* this one, of `launches` into the same file */
    int launches = 1;
    std::string launcher;
    std::string transport;
    std::string launcher_args;
    std::vector<std::string> words; /* as typed */
};

Result<std::variant<Arguments, Leave>> parse_arguments(int argc, char **argv);

/* Whether the output can be written on this host, which only the one of rank 0 needs to have. */
Outcome check_output(const Arguments& arguments);

/* The sizes `operation` is measured at on `ranks` ranks; those it cannot have are left out and
   named in `note`. They are blocks of one rank also where the definition counts those of all. */
std::vector<std::uint64_t> sizes_of(const Arguments& arguments, const std::string& operation,
                                    int ranks, std::string& note);

}  // namespace lanewise::measure::session
