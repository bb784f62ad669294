// SPDX-License-Identifier: BSD-3-Clause
//
// Hockney: a message of M bytes takes a + bM, and its sender is busy all that time. Here every link
// has an a and a b of its own; on a homogeneous cluster they come out alike.
//
// Source: R. Hockney, "The communication challenge for MPP", Parallel Computing 20 (1994);
// heterogeneous as in Lastovetsky, Rychkov and O'Flynn. Estimated from round trips R = 2a + b
// (bytes both ways) with the least relative errors. The closed formulas are for n equal ranks, n a
// power of two.

#pragma once

#include "model/models/parameter.hpp"
#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

struct HockneyLink {
    Parameter latency_s;
    Parameter s_per_byte;

    double time_s(std::int64_t bytes) const {
        return latency_s.value + s_per_byte.value * static_cast<double>(bytes);
    }
};

struct Hockney {
    Links<HockneyLink> links;
};

/* Fails where a link has not been measured at two sizes, with the experiment that is lacking. */
Result<Fitted<Hockney>> fit_hockney(const Observations& observations);

std::vector<Parameter *> parameters(Hockney& model);

HockneyLink mean_link(const Hockney& model);

/* Of any number of ranks: those beyond the measured have the mean link. */
Network network(const Hockney& model, int ranks);

namespace hockney {

double linear_scatter_s(const HockneyLink& link, int ranks, std::int64_t block_bytes);
double binomial_scatter_s(const HockneyLink& link, int ranks, std::int64_t block_bytes);
double linear_bcast_s(const HockneyLink& link, int ranks, std::int64_t bytes);
double binomial_bcast_s(const HockneyLink& link, int ranks, std::int64_t bytes);
double chain_bcast_s(const HockneyLink& link, int ranks, std::int64_t bytes);

}  // namespace hockney

}  // namespace lanewise::model
