// SPDX-License-Identifier: BSD-3-Clause
//
// Predict: the seconds that a call takes with an algorithm on a network.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/algorithm.hpp"
#include "model/platform/platform.hpp"
#include "model/simulation/price.hpp"

namespace lanewise::collectives {

/* A call to be priced, as lanewise measures it: operators commute, and v-operations have equal
   blocks. */
struct PricedCall {
    Collective collective = Collective::barrier;
    int ranks = 1;
    int root = 0;
    std::uint64_t message_bytes = 0; /* of a block, or of the vector; see lanewise/operation.h */
    std::uint64_t segment_bytes = 0; /* 0: the algorithm's own choice */
    int lanes = 1;
    std::span<const int> hosts = {}; /* of each rank; empty: unknown */
    std::span<const int> sites = {}; /* the same */
};

/* Host and site of each rank, numbered as PricedCall has them; empty where the platform does not
   know those of all ranks. */
struct Places {
    std::vector<int> hosts;
    std::vector<int> sites;
};
Places places_of(const model::Platform& platform, int ranks);

/* What the algorithms of a job are priced on. A fit knows nothing of what lanes between sites carry
   together, so algorithms that use them are priced on the lane curves of a platform that has any.
 */
struct Networks {
    std::shared_ptr<const model::Network> best;  /* of the model that is the platform's best */
    std::shared_ptr<const model::Network> lanes; /* null: no curves for these ranks */

    const model::Network& of(const Algorithm& algorithm) const {
        return algorithm.needs.sites && lanes ? *lanes : *best;
    }
};
Result<Networks> networks_of(const model::Platform& platform, int ranks);

/* Of the platform in the file at `path`. */
Result<Networks> read_networks(const std::string& path, int ranks);

/* What must be so for a schedule to be built at all: a root that is there, and bytes and segments
   that can be counted. `ranks` is 1 at least. */
Outcome can_be_built(const Algorithm& algorithm, const PricedCall& call);

/* What would keep the caller waiting for more than some seconds, over all ranks: */
inline constexpr std::uint64_t steps_max = 10'000'000;
inline constexpr std::uint64_t costs_max = 200'000'000; /* asked for while schedules are built */

/*
 * Fails where the root is none of the ranks, where the algorithm cannot serve
 * the call, where its schedules are larger than these limits, and where they
 * cannot finish.
 */
Result<model::Priced> predict(const Algorithm& algorithm, const PricedCall& call,
                              const model::Network& network, const model::Watch& watch = {});

}  // namespace lanewise::collectives
