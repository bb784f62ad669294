// SPDX-License-Identifier: BSD-3-Clause
//
// Way: one way to carry out a collective: the MPI's default, an algorithm of
// Lanewise, an algorithm of the MPI's own, or several calls in sequence. All
// are measured through the same door, so that none has a shorter path.

#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/algorithm.hpp"
#include "measure/operation.hpp"

namespace lanewise::tools {

/* Ready to be timed; zero for success. What it holds is freed with it. */
using Execution = std::function<int()>;

/* Collective. Gets everything ready on a communicator, with buffers of its own. */
using Way = std::function<Result<Execution>(MPI_Comm comm, int root, std::uint64_t message_bytes)>;

/* A way as an operation that a Bench measures. Refers to `way`. */
lw_operation operation_of(const std::string& name, const Way& way);

/* The MPI's operation called `name`, at its default. */
Way default_way(const std::string& name);

/* Lanewise's algorithm; fails at execution where it does not serve. */
Way algorithm_way(const collectives::Algorithm& algorithm, std::int64_t segment_bytes, int lanes);

/* The MPI's nonblocking operation called `name`: begun, `work_s` of work done, waited for. */
Way default_request_way(const std::string& name, double work_s);

/* The same by Lanewise's algorithm, through a request as a program gets it. */
Way request_way(const collectives::Algorithm& algorithm, std::int64_t segment_bytes, int lanes,
                double work_s);

/* One operation of a sequence, with a size of its own. */
struct Part {
    std::string operation;
    std::uint64_t message_bytes = 0;
};

/* The MPI's operations one after the other, whatever size is asked for. */
Way sequence_way(const std::vector<Part>& parts);

}  // namespace lanewise::tools
