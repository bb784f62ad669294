// SPDX-License-Identifier: BSD-3-Clause
//
// See prediction.hpp.

#include "tune/prediction.hpp"

#include "collectives/predict.hpp"

namespace lanewise::tune {

void predict(std::vector<Candidate>& candidates, collectives::Collective collective,
             std::uint64_t message_bytes, const collectives::RankPlacement& located,
             const model::Network& network) {
    for (auto& candidate : candidates) {
        if (!candidate.lanewise) continue;
        const auto priced = collectives::predict(
            *candidate.lanewise,
            {.collective = collective,
             .ranks = static_cast<int>(located.hosts.size()),
             .message_bytes = message_bytes,
             .segment_bytes = static_cast<std::uint64_t>(candidate.segment_bytes),
             .lanes = candidate.lanes,
             .hosts = located.hosts,
             .sites = located.sites},
            network);
        if (priced && priced->finished) candidate.predicted_s = priced->total_s;
    }
}

}  // namespace lanewise::tune
