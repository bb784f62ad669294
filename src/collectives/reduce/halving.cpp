// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/reduce/halving.hpp"

namespace lanewise::collectives {

std::vector<Halved> reduce_by_halving(Partial& partial, const Folding& folding, int rank,
                                      std::int64_t count) {
    std::vector<Halved> rounds;
    const int me = folding.node_of(rank);
    Range range{0, count};
    for (int bit = 1; bit < folding.nodes; bit *= 2) {
        const Range lower{range.begin, range.count - range.count / 2};
        const Range upper{range.begin + lower.count, range.count / 2};
        const bool keeps_lower = (me & bit) == 0;
        const Halved round{.bit = bit,
                           .peer = folding.rank_at(me ^ bit),
                           .given = keeps_lower ? upper : lower,
                           .kept = keeps_lower ? lower : upper};
        partial.exchange(round.peer, round.given, round.kept);
        rounds.push_back(round);
        range = round.kept;
    }
    return rounds;
}

}  // namespace lanewise::collectives
