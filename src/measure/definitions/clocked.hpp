// SPDX-License-Identifier: BSD-3-Clause
//
// Where a loop reads the clock. The clock is MPI_Wtime, as in all of these tools:
// where it is read around each call, a call's time includes reading it.

#pragma once

#include <mpi.h>

#include <cstdint>

#include "measure/definitions/definition.hpp"
#include "measure/harness/harness.hpp"

namespace lanewise::measure {

/* What a loop repeats, also after a failure: the other ranks wait for what this one sends.
   `execute` returns zero for success. */
template <typename Execute>
struct Body {
    Execute execute;
    MPI_Comm comm;
    bool meets;
    bool failed = false;

    void call() { failed |= execute() != 0; }
    void meet() const {
        if (meets) check(MPI_Barrier(comm));
    }
};

template <typename Body>
double clocked_around_all(Body& body, std::uint32_t count) {
    const double begin_s = MPI_Wtime();
    for (std::uint32_t i = 0; i < count; ++i) {
        body.call();
        body.meet();
    }
    return MPI_Wtime() - begin_s;
}

template <typename Body>
double clocked_around_each(Body& body, std::uint32_t count) {
    double total_s = 0.0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double begin_s = MPI_Wtime();
        body.call();
        total_s += MPI_Wtime() - begin_s;
        body.meet();
    }
    return total_s;
}

template <typename Body>
double clocked_around_both(Body& body, std::uint32_t count) {
    const double begin_s = MPI_Wtime();
    for (std::uint32_t i = 0; i < count; ++i) {
        MPI_Wtime();
        body.call();
        MPI_Wtime();
        body.meet();
    }
    return MPI_Wtime() - begin_s;
}

/* The seconds that `count` calls take on this rank. */
template <typename Body>
double clocked(Body& body, Clocked how, std::uint32_t count) {
    switch (how) {
        case Clocked::around_all: return clocked_around_all(body, count);
        case Clocked::around_each: return clocked_around_each(body, count);
        case Clocked::around_both: return clocked_around_both(body, count);
    }
    return 0.0;
}

}  // namespace lanewise::measure
