// SPDX-License-Identifier: BSD-3-Clause
//
// Border: where C++ ends and the C API begins. No exception passes, and the
// reason of a failure goes to the caller's `report`.

#pragma once

#include <lanewise/measure.h>

#include <new>
#include <string>

#include "base/result.hpp"
#include "measure/harness.hpp"

namespace lanewise::measure {

inline lw_status tell(const lw_measure_options *options, int rank, const Failure& failure) {
    if (options && options->report && rank == 0)
        options->report(options->report_context, failure.status, failure.sentence.c_str());
    return failure.status;
}

/* Runs `body`, which returns an Outcome, and turns whatever happens into a status. */
template <typename Body>
lw_status at_border(const lw_measure_options *options, MPI_Comm comm, Body&& body) {
    int rank = 0;
    if (comm != MPI_COMM_NULL) MPI_Comm_rank(comm, &rank);
    try {
        const Outcome outcome = body();
        return outcome ? LW_OK : tell(options, rank, outcome.failure());
    } catch (const MpiFailure& failure) {
        return tell(options, 0, {LW_ERR_MPI, std::string("MPI: ") + failure.what()});
    } catch (const std::bad_alloc&) {
        return tell(options, 0, {LW_ERR_MEMORY, "out of memory"});
    }
}

}  // namespace lanewise::measure
