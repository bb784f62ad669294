// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane broadcast: the vector crosses to each other site in P slices at
// once. The root sends slice l to the lane rank of that slice at its site, which
// sends it over its lanes and then to the rest of its site; the lane ranks of the
// other sites forward it at theirs. All travels in segments, so that the stages
// overlap. After Chiba, Endo and
// Matsuoka, CCGrid 2007, where several interfaces carry parts of a broadcast.
// Cost: L + M / (P b) + 2 c / b for segments of c bytes.

#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/lanes/sites.hpp"
#include "collectives/lanes/slices.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::StepId;

/* Which rank forwards which slice to whom. */
class Relay {
  public:
    explicit Relay(const CallShape& shape) : shape_(shape), lane_ranks_(shape) {}

    int slices() const { return lane_ranks_.slices(); }

    /* The rank that sends a slice to this one; -1 at the root. */
    int source(int slice) const {
        if (shape_.is_root()) return -1;
        const int lane_rank = lane_rank_here(slice);
        if (shape_.rank != lane_rank) return lane_rank;
        return lane_ranks_.site() == 0 ? shape_.root : lane_ranks_.of(0, slice);
    }

    /* The ranks that this one sends a slice to, those over lanes first. */
    std::vector<int> targets(int slice) const {
        const int lane_rank = lane_rank_here(slice);
        if (shape_.is_root() && lane_rank != shape_.rank) return {lane_rank};
        if (lane_rank != shape_.rank) return {};
        std::vector<int> found;
        for (int site = 1; lane_ranks_.site() == 0 && site < lane_ranks_.sites(); ++site) {
            found.push_back(lane_ranks_.of(site, slice));
        }
        for (const int rank : lane_ranks_.ranks(lane_ranks_.site())) {
            if (rank != shape_.rank && rank != shape_.root) found.push_back(rank);
        }
        return found;
    }

  private:
    int lane_rank_here(int slice) const { return lane_ranks_.of(lane_ranks_.site(), slice); }

    const CallShape& shape_;
    const LaneRanks lane_ranks_;
};

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Relay relay(shape);
    const auto segments = segments_of_slices(shape, relay.slices());
    std::vector<StepId> arrived;
    for (const auto& segment : segments) {
        const int source = relay.source(segment.slice);
        arrived.push_back(source < 0
                              ? model::no_step
                              : steps.receive(source, segment.in(Place::receive), segment.count));
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
        for (const int target : relay.targets(segments[i].slice)) {
            steps.send(target, segments[i].in(Place::receive), segments[i].count, {arrived[i]});
        }
    }
    return steps.finish();
}

}  // namespace

extern const Algorithm bcast_multilane{
    .collective = Collective::bcast,
    .name = "multilane",
    .source = "after Chiba et al., CCGrid 2007",
    .cost = "L+M/(P b(P))+2c/b_LAN",
    .needs = {.segmented = true, .lanes = true, .sites = true},
    .build = build,
};

}  // namespace lanewise::collectives
