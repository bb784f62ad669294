// SPDX-License-Identifier: BSD-3-Clause
//
// Implementation: what carries out a collective. It is the MPI's default, an algorithm of Lanewise,
// an algorithm of the MPI, or several calls in sequence. All are measured through the same
// interface, so that none has a shorter path.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "measure/harness/operation.hpp"

namespace lanewise::tune {

/* Ready to be timed; zero for success. What it holds is freed with it. */
struct Execution {
    explicit Execution(std::function<int()> timed, std::function<void()> untimed = {})
        : call(std::move(timed)), between(std::move(untimed)) {}

    std::function<int()> call;
    std::function<void()> between; /* before each call, untimed; may be empty */
};

/* Collective. Gets everything ready on a communicator, with buffers of its own. */
using Implementation =
    std::function<Result<Execution>(MPI_Comm comm, int root, std::uint64_t message_bytes)>;

/* An implementation as an operation that a Bench measures. Refers to `implementation`. */
lw_operation operation_of(const std::string& name, const Implementation& implementation);

/* The MPI's operation called `name`, at its default. */
Implementation default_implementation(const std::string& name);

/* Lanewise's algorithm; fails at execution where it does not serve. */
Implementation algorithm_implementation(const collectives::Algorithm& algorithm,
                                        std::int64_t segment_bytes, int lanes);

/* The same through a request as a program gets it: begun, `work_s` of work done, waited for. */
Implementation algorithm_request(const collectives::Algorithm& algorithm,
                                 std::int64_t segment_bytes, int lanes, double work_s);

/* Does so much work that calls no MPI, then waits. */
int work_and_wait(double work_s, MPI_Request& request);

/* One operation of a sequence, with a size of its own. */
struct Part {
    std::string operation;
    std::uint64_t message_bytes = 0;
};

/* The MPI's operations one after the other, whatever size is asked for. */
Implementation sequence(const std::vector<Part>& parts);

}  // namespace lanewise::tune
