// SPDX-License-Identifier: BSD-3-Clause
//
// Gather region: between the sizes M1 and M2, many senders to one receiver make a switch drop
// packets, and now and then a gather waits a fifth of a second for TCP to retransmit. Below M1 this
// never happens; above M2 messages arrive one after another. What happens between cannot be
// predicted, only avoided, so this reports how often and how long.
//
// Source: Lastovetsky and O'Flynn, "A performance model of many-to-one collective communications",
// 2007; Lastovetsky, Rychkov and O'Flynn, 2008 (MPIBlib), section 4.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/samples/observation.hpp"

namespace lanewise::model {

struct Escalation {
    std::int64_t message_bytes = 0;
    double probability = 0.0;
};

struct GatherRegion {
    std::int64_t m1_bytes = 0; /* the last quiet size */
    std::int64_t m2_bytes = 0; /* the last size with escalations */
    double escalation_s = 0.0; /* how long one is, the median; 0: there were none */
    std::vector<Escalation> probabilities;

    bool serial(std::int64_t bytes) const { return bytes > m2_bytes; }
};

/*
 * From the gathers among the samples; none where no escalation was seen, or
 * where no size was repeated often enough to find one.
 */
std::optional<GatherRegion> find_gather_region(const Observations& observations);

}  // namespace lanewise::model
