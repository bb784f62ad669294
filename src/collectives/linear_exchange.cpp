// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/linear_exchange.hpp"

namespace lanewise::collectives {

using model::Place;

model::Schedule exchange_at_once(const CallShape& shape, Sent sent) {
    model::Builder steps;
    const int n = shape.ranks;
    const int me = shape.rank;
    const bool differ = sent == Sent::block_for_each;
    const auto block_for = [&](int peer) -> model::Slice {
        return {Place::send, differ ? shape.send_offset_of(peer) : 0};
    };
    const auto count_for = [&](int peer) {
        return differ ? shape.send_count_of(peer) : shape.count_of(me);
    };
    for (int distance = 1; distance < n; ++distance) {
        const int peer = (me - distance + n) % n;
        steps.receive(peer, {Place::receive, shape.offset_of(peer)}, shape.count_of(peer));
    }
    for (int distance = 1; distance < n; ++distance) {
        const int peer = (me + distance) % n;
        steps.send(peer, block_for(peer), count_for(peer));
    }
    steps.copy(block_for(me), {Place::receive, shape.offset_of(me)}, shape.count_of(me));
    return steps.finish();
}

}  // namespace lanewise::collectives
