// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/neighbor/messages.hpp"

#include <algorithm>

namespace lanewise::collectives {
namespace {

using model::Place;

std::vector<NeighborMessage> messages(std::span<const int> peers,
                                      std::span<const std::int64_t> counts,
                                      std::span<const std::int64_t> offsets, Place place) {
    std::vector<NeighborMessage> found;
    for (std::size_t i = 0; i < peers.size(); ++i) {
        if (peers[i] < 0 || counts[i] == 0) continue;
        found.push_back({peers[i], {place, offsets[i]}, counts[i]});
    }
    return found;
}

/* Takes those with the rank itself out. */
std::vector<NeighborMessage> take_own(std::vector<NeighborMessage>& messages, int rank) {
    const auto own =
        std::stable_partition(messages.begin(), messages.end(),
                              [&](const NeighborMessage& one) { return one.peer != rank; });
    std::vector<NeighborMessage> taken(own, messages.end());
    messages.erase(own, messages.end());
    return taken;
}

}  // namespace

NeighborMessages messages_to_others(model::Builder& steps, const CallShape& shape) {
    NeighborMessages all{
        messages(shape.sources, shape.counts, shape.offsets, Place::receive),
        messages(shape.destinations, shape.send_counts, shape.send_offsets, Place::send)};
    const auto sent = take_own(all.sent, shape.rank);
    const auto received = take_own(all.received, shape.rank);
    for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i) {
        steps.copy(sent[i].data, received[i].data, received[i].count);
    }
    return all;
}

}  // namespace lanewise::collectives
