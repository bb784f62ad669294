// SPDX-License-Identifier: BSD-3-Clause
//
// LogGP: a processor is busy for o with each message; from one message of M bytes to the next the
// interface needs g + (M - 1) G; a message is on its way for L after its last byte has left: T = 2o
// + L + (M - 1) G. There is one set of numbers for all ranks.
//
// Source: Alexandrov, Ionescu, Schauser and Scheiman, SPAA'95; the experiments by Hoefler, Lichei
// and Rehm, "Low-overhead LogGP parameter assessment", 2007: with PRTT(n, s) for n messages of s
// bytes and one empty reply,
//   g + (s - 1) G = (PRTT(n, s) - PRTT(1, s)) / (n - 1),
// a line over s. o is the time of a send and of a receive, each timed alone, as in PLogP; L is what
// remains of the round trip of one byte.

#pragma once

#include "model/models/parameter.hpp"
#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

struct LogGP {
    Parameter latency_s;      /* L */
    Parameter overhead_s;     /* o */
    Parameter gap_s;          /* g */
    Parameter gap_s_per_byte; /* G */

    /* Of the bytes after the first. */
    double long_s(std::int64_t bytes) const {
        return bytes > 1 ? gap_s_per_byte.value * static_cast<double>(bytes - 1) : 0.0;
    }
    /* From one message to the next. */
    double interval_s(std::int64_t bytes) const;
    double message_s(std::int64_t bytes) const {
        return 2.0 * overhead_s.value + latency_s.value + long_s(bytes);
    }
};

/* Fails where pairs, trains, sends or receives are lacking, with the experiment to make. */
Result<Fitted<LogGP>> fit_loggp(const Observations& observations);

std::vector<Parameter *> parameters(LogGP& model);

Network network(const LogGP& model, int ranks);

/* The literature's closed formulas; binomial for n a power of two. */
namespace loggp {

double linear_scatter_s(const LogGP& model, int ranks, std::int64_t block_bytes);
double binomial_scatter_s(const LogGP& model, int ranks, std::int64_t block_bytes);
double chain_bcast_s(const LogGP& model, int ranks, std::int64_t bytes);

}  // namespace loggp

}  // namespace lanewise::model
