// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/linear_exchange.hpp"

namespace lanewise::collectives {

using model::Place;

model::Schedule exchange_at_once(const CallShape& shape, Sent sent) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const auto block_for = [&](int peer) -> model::Slice {
        return {Place::send, sent == Sent::block_for_each ? shape.offset_of(peer) : 0};
    };
    for (int distance = 1; distance < n; ++distance) {
        const int peer = (me - distance + n) % n;
        steps.receive(peer, {Place::receive, shape.offset_of(peer)}, shape.count_of(peer));
    }
    for (int distance = 1; distance < n; ++distance) {
        const int peer = (me + distance) % n;
        steps.send(peer, block_for(peer), shape.count_of(me));
    }
    steps.copy(block_for(me), {Place::receive, shape.offset_of(me)}, shape.count_of(me));
    return steps.finish();
}

}  // namespace lanewise::collectives
