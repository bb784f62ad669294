// SPDX-License-Identifier: BSD-3-Clause
//
// PLogP: LogP with numbers for every size. os(M) and or(M) are the times for which a send and a
// receive keep their processor busy; g(M) is the least time from one message to the next, and
// contains both; L is the rest of the way: T = L + g(M). The numbers are interpolated between
// sizes; beyond the last they grow as over the last doubling, and never fall. There is one set of
// them for all ranks.
//
// Source: Kielmann, Bal and Verstoep, "Fast measurement of LogP parameters for message passing
// platforms", 2000. g(M) comes from trains of messages with one empty reply, at every size; L =
// RTT(0)/2 - g(0).

#pragma once

#include "model/models/parameter.hpp"
#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

struct PLogPSize {
    std::int64_t message_bytes = 0;
    Parameter send_s;    /* os */
    Parameter receive_s; /* or */
    Parameter gap_s;     /* g */
};

struct PLogP {
    Parameter latency_s;          /* L */
    std::vector<PLogPSize> sizes; /* in rising order, at least two */

    double send_s(std::int64_t bytes) const;
    double receive_s(std::int64_t bytes) const;
    double gap_s(std::int64_t bytes) const;
    double message_s(std::int64_t bytes) const { return latency_s.value + gap_s(bytes); }
};

/* Fails where pairs, trains, sends or receives are lacking, with the experiment to make. */
Result<Fitted<PLogP>> fit_plogp(const Observations& observations);

std::vector<Parameter *> parameters(PLogP& model);

Network network(const PLogP& model, int ranks);

namespace plogp {

double linear_scatter_s(const PLogP& model, int ranks, std::int64_t block_bytes);
double binomial_scatter_s(const PLogP& model, int ranks, std::int64_t block_bytes);
double binomial_bcast_s(const PLogP& model, int ranks, std::int64_t bytes);
double chain_bcast_s(const PLogP& model, int ranks, std::int64_t bytes);

}  // namespace plogp

}  // namespace lanewise::model
