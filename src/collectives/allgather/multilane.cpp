// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane allgather: the blocks of a site cross to each other site once, in P
// slices at once. Every rank sends its block to the other ranks of its site. The
// lane rank of slice l sends that slice of the site's blocks to the lane ranks of
// the other sites, and these forward it to the ranks of their own. All travels in
// segments, so that the stages overlap. Where blocks have one size and every rank
// is a lane rank, the block of a lane rank lies in its own slice.
// Cost, n1 blocks of M bytes to cross: L + n1 M / (P b) + 2 c / b.

#include <algorithm>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/lanes/sites.hpp"
#include "collectives/lanes/slices.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

/* A segment of a block, in the one order that all ranks know. */
struct Segment {
    int owner = 0;
    std::int64_t offset = 0; /* into the block */
    std::int64_t count = 0;
    int site = 0; /* the owner's */
    int slice = 0;
};

/* The blocks of each site cut at the ends of its slices, and into segments. */
std::vector<Segment> segments_of_sites(const CallShape& shape, const LaneRanks& lane_ranks) {
    std::int64_t units = 0;
    for (int rank = 0; rank < shape.ranks; ++rank) units += shape.count_of(rank);
    const auto piece = segments_of(shape, units, lane_segment_bytes).piece;
    std::vector<Segment> found;
    for (int site = 0; site < lane_ranks.sites(); ++site) {
        std::int64_t of_site = 0;
        for (const int rank : lane_ranks.ranks(site)) of_site += shape.count_of(rank);
        const Bounds bounds(of_site, lane_ranks.slices());
        std::int64_t row = 0; /* where the block begins among those of its site */
        int slice = 0;
        for (const int owner : lane_ranks.ranks(site)) {
            const auto count = shape.count_of(owner);
            for (std::int64_t done = 0; done < count;) {
                while (bounds[slice + 1] <= row + done) ++slice;
                const auto here = std::min({piece, count - done, bounds[slice + 1] - row - done});
                found.push_back({owner, done, here, site, slice});
                done += here;
            }
            row += count;
        }
    }
    return found;
}

/* The steps of one rank. To each peer, its own block comes before what it forwards. */
class RankSteps {
  public:
    RankSteps(const CallShape& shape, Builder& steps)
        : shape_(shape),
          steps_(steps),
          lane_ranks_(shape),
          segments_(segments_of_sites(shape, lane_ranks_)) {}

    void add() {
        arrived_.assign(segments_.size(), model::no_step);
        for (const bool own : {true, false}) receive(own);
        send(true, true);
        send(true, false);
        send(false, true);
        send(false, false);
        const auto me = shape_.rank;
        steps_.copy({Place::send, 0}, {Place::receive, shape_.offset_of(me)}, shape_.count_of(me));
    }

  private:
    bool is_here(const Segment& segment) const { return segment.site == lane_ranks_.site(); }

    /* Who gives this rank a segment of another: its owner, the lane, or the lane's receiver. */
    int source_of(const Segment& segment) const {
        if (is_here(segment)) return segment.owner;
        const int receiver = lane_ranks_.of(lane_ranks_.site(), segment.slice);
        return receiver == shape_.rank ? lane_ranks_.of(segment.site, segment.slice) : receiver;
    }

    /* Receives what its sender owns, or else what its sender forwards. */
    void receive(bool own) {
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            const auto& segment = segments_[i];
            if (segment.owner == shape_.rank) continue;
            const int source = source_of(segment);
            if ((source == segment.owner) != own) continue;
            arrived_[i] = steps_.receive(source, here(segment), segment.count);
        }
    }

    Slice here(const Segment& segment) const {
        if (segment.owner == shape_.rank) return {Place::send, segment.offset};
        return {Place::receive, shape_.offset_of(segment.owner) + segment.offset};
    }

    /* Sends what this rank owns or else what it received, over lanes or else inside the site. */
    void send(bool own, bool over_lanes) {
        for (std::size_t i = 0; i < segments_.size(); ++i) {
            const auto& segment = segments_[i];
            if ((segment.owner == shape_.rank) != own) continue;
            for (const int target : over_lanes ? across(segment) : inside(segment)) {
                steps_.send(target, here(segment), segment.count, {arrived_[i]});
            }
        }
    }

    std::vector<int> across(const Segment& segment) const {
        std::vector<int> found;
        if (!is_here(segment)) return found;
        if (lane_ranks_.of(segment.site, segment.slice) != shape_.rank) return found;
        for (int site = 0; site < lane_ranks_.sites(); ++site) {
            if (site != segment.site) found.push_back(lane_ranks_.of(site, segment.slice));
        }
        return found;
    }

    std::vector<int> inside(const Segment& segment) const {
        const bool gives = is_here(segment)
                               ? segment.owner == shape_.rank
                               : lane_ranks_.of(lane_ranks_.site(), segment.slice) == shape_.rank;
        return gives ? lane_ranks_.others() : std::vector<int>();
    }

    const CallShape& shape_;
    Builder& steps_;
    const LaneRanks lane_ranks_;
    const std::vector<Segment> segments_;
    std::vector<StepId> arrived_;
};

model::Schedule build(const CallShape& shape) {
    Builder steps;
    RankSteps(shape, steps).add();
    return steps.finish();
}

}  // namespace

extern constexpr Algorithm allgather_multilane{
    .collective = Collective::allgather,
    .name = "multilane",
    .source = "after Chiba, Endo and Matsuoka, 2008",
    .cost = "L+n1 M/(P b(P))+2c/b_LAN",
    .needs = {.segmented = true, .lanes = true, .sites = true},
    .build = build,
};
extern constexpr Algorithm allgatherv_multilane = vector_form(
    allgather_multilane, Collective::allgatherv, {.segmented = true, .lanes = true, .sites = true});

}  // namespace lanewise::collectives
