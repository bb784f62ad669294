// SPDX-License-Identifier: BSD-3-Clause
//
// See prediction.hpp.

#include "tools/tune/prediction.hpp"

#include "collectives/predict.hpp"

namespace lanewise::tools {

void predict(std::vector<Candidate>& candidates, collectives::Collective collective,
             std::uint64_t message_bytes, int ranks, const model::Network& network) {
    for (auto& candidate : candidates) {
        if (!candidate.lanewise) continue;
        const auto priced = collectives::predict(
            *candidate.lanewise,
            {.collective = collective,
             .ranks = ranks,
             .message_bytes = message_bytes,
             .segment_bytes = static_cast<std::uint64_t>(candidate.segment_bytes)},
            network);
        if (priced && priced->finished) candidate.predicted_s = priced->total_s;
    }
}

}  // namespace lanewise::tools
