// SPDX-License-Identifier: BSD-3-Clause
//
// LMO: a model that separates what processors do from what links do. A message of M bytes from i to
// j takes (C_i + t_i M) + (L_ij + M / beta_ij) + (C_j + t_j M): the sender's processor, the link,
// the receiver's processor, one after another. A processor does one thing at a time; links do not
// disturb each other, except in a gather of long messages (gather_region.hpp).
//
// Source: Lastovetsky, Mkwawa and O'Flynn, ICPADS 2006; Lastovetsky and Rychkov, Cluster 2007;
// Lastovetsky, Rychkov and O'Flynn, 2008 (MPIBlib), section 4. Estimated from round trips
//   R_ij(M, r) = 2 (C_i + L_ij + C_j) + (M + r)(t_i + 1/beta_ij + t_j)
// and from point-to-two: i sends M to j, then to k, then receives r bytes from j, then from k. The
// papers count four times C_i in that. But while i waits for k it receives j's answer, so the time
// is
//   O_i,jk(M, r) = C_i + r t_i + max(R_ij(M, r), R_ik(M, r) + (M - r) t_i).
// Solved for C_i at M = r = 0, and for t_i by least squares over all others.
//
// Where the time of a message is no line over all sizes, or messages wait for their receive, a
// message takes a + bM by ranges of sizes (size_ranges.hpp), of which C and t are the processors'
// parts. A message that waits is sent and received at the same time, so that both processors are
// busy with its bytes at once, tM each, and the pair of ranks has a + bM in all.

#pragma once

#include <optional>

#include "model/models/gather_region.hpp"
#include "model/models/parameter.hpp"
#include "model/models/size_ranges.hpp"
#include "model/samples/observation.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

struct LmoProcessor {
    Parameter fixed_s;    /* C */
    Parameter s_per_byte; /* t */

    double time_s(double bytes) const { return fixed_s.value + s_per_byte.value * bytes; }
};

struct LmoLink {
    Parameter latency_s;  /* L */
    Parameter s_per_byte; /* 1 / beta */

    double time_s(double bytes) const { return latency_s.value + s_per_byte.value * bytes; }
};

struct LmoRanges {
    std::vector<std::int64_t> from_bytes;         /* in rising order; the first is 0 */
    std::optional<std::int64_t> waits_from_bytes; /* for the receive; none: no message waits */
    MessageLinks messages;                        /* both processors and the link together */
};

struct Lmo {
    std::vector<LmoProcessor> processors;
    Links<LmoLink> links; /* as one line over all sizes */
    std::optional<LmoRanges> ranges = {};
};

/* Fails where pairs or triplets are lacking, with the experiment to make. */
Result<Fitted<Lmo>> fit_lmo(const Observations& observations);

std::vector<Parameter *> parameters(Lmo& model);

LmoProcessor mean_processor(const Lmo& model);
LmoLink mean_link(const Lmo& model);

/* By ranges where there are some. Messages above the region's M2 come in one after another at a
   receiver. */
Network network(const Lmo& model, int ranks, const std::optional<GatherRegion>& region);

/* The papers' closed formulas, for the model's own ranks, without ranges. */
namespace lmo {

double message_s(const Lmo& model, int from, int to, std::int64_t bytes);
double linear_scatter_s(const Lmo& model, int root, std::int64_t block_bytes);
double binomial_scatter_s(const Lmo& model, int root, std::int64_t block_bytes);
double chain_bcast_s(const Lmo& model, int root, std::int64_t bytes);

}  // namespace lmo

}  // namespace lanewise::model
