// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane allreduce: the vector is cut into P slices. The lane rank of slice l
// reduces that slice over the ranks of its site and exchanges the sum with the
// lane ranks of the other sites. Each reduces these sums in the order of the
// sites, so that all get the same bits, and sends the result to the ranks of its
// own site. The vector crosses once each way, P slices at once, in segments.
// Cost: L + M / (P b) + 2 (n - 1)(b_LAN + g) M / P inside a site of n ranks.

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

/* A sum of one rank or of a site, and the step after which it is there. */
struct Sum {
    Slice at;
    StepId ready = model::no_step;
};

/* A segment that this rank reduces for its site. */
struct Reduction {
    SliceSegment segment;
    std::vector<Sum> of_ranks = {}; /* of its own site */
    std::vector<Sum> of_sites = {}; /* by site; its own has none */
    StepId summed = model::no_step; /* its site's sum is there */
    std::vector<StepId> sent = {};  /* and has left for the others */
};

/* The steps of one rank. */
class RankSteps {
  public:
    RankSteps(const CallShape& shape, Builder& steps)
        : shape_(shape),
          steps_(steps),
          lane_ranks_(shape),
          segments_(segments_of_slices(shape, lane_ranks_.slices())) {}

    /* Contributions leave before results are waited for, since these may lie in the same memory. */
    void add() {
        receive_contributions();
        contribute();
        for (auto& reduction : reductions_) reduce_site(reduction);
        for (const auto& reduction : reductions_) reduce_sites(reduction);
    }

  private:
    int lane_rank_of(const SliceSegment& segment) const {
        return lane_ranks_.of(lane_ranks_.site(), segment.slice);
    }

    Sum incoming(int source, const SliceSegment& segment) {
        const auto at = steps_.scratch(segment.count);
        return {at, steps_.receive(source, at, segment.count)};
    }

    void receive_contributions() {
        for (const auto& segment : segments_) {
            if (lane_rank_of(segment) != shape_.rank) continue;
            Reduction reduction{.segment = segment};
            for (const int peer : lane_ranks_.others()) {
                reduction.of_ranks.push_back(incoming(peer, segment));
            }
            for (int site = 0; site < lane_ranks_.sites(); ++site) {
                reduction.of_sites.push_back(
                    site == lane_ranks_.site()
                        ? Sum{}
                        : incoming(lane_ranks_.of(site, segment.slice), segment));
            }
            reductions_.push_back(std::move(reduction));
        }
    }

    void contribute() {
        std::vector<StepId> sent;
        for (const auto& segment : segments_) {
            if (lane_rank_of(segment) == shape_.rank) continue;
            sent.push_back(
                steps_.send(lane_rank_of(segment), segment.in(Place::send), segment.count));
        }
        auto before = sent.begin();
        for (const auto& segment : segments_) {
            if (lane_rank_of(segment) == shape_.rank) continue;
            steps_.receive(lane_rank_of(segment), segment.in(Place::receive), segment.count,
                           {*before++});
        }
    }

    void reduce_site(Reduction& reduction) {
        const auto& segment = reduction.segment;
        const auto sum = segment.in(Place::receive);
        auto& summed = reduction.summed;
        summed = steps_.copy(segment.in(Place::send), sum, segment.count);
        for (const auto& one : reduction.of_ranks) {
            summed = steps_.reduce(one.at, sum, segment.count, {one.ready, summed});
        }
        for (int site = 0; site < lane_ranks_.sites(); ++site) {
            if (site == lane_ranks_.site()) continue;
            reduction.sent.push_back(
                steps_.send(lane_ranks_.of(site, segment.slice), sum, segment.count, {summed}));
        }
    }

    /* From the last site's sum backwards, apart from the own sum, which must first have left. */
    void reduce_sites(const Reduction& reduction) {
        const auto& segment = reduction.segment;
        const auto own = segment.in(Place::receive);
        const int last = lane_ranks_.sites() - 1;
        auto sums = reduction.of_sites;
        sums[here()] = {own, reduction.summed};
        auto total = sums.back();
        if (last > 0 && last == lane_ranks_.site()) {
            total.at = steps_.scratch(segment.count);
            total.ready = steps_.copy(own, total.at, segment.count, {reduction.summed});
        }
        for (int site = last - 1; site >= 0; --site) {
            const auto& one = sums[static_cast<std::size_t>(site)];
            total.ready = steps_.reduce(one.at, total.at, segment.count, {one.ready, total.ready});
        }
        if (last > 0) {
            auto after = reduction.sent;
            after.push_back(total.ready);
            total.ready = steps_.copy_after(after, total.at, own, segment.count);
        }
        for (const int peer : lane_ranks_.others()) {
            steps_.send(peer, own, segment.count, {total.ready});
        }
    }

    std::size_t here() const { return static_cast<std::size_t>(lane_ranks_.site()); }

    const CallShape& shape_;
    Builder& steps_;
    const LaneRanks lane_ranks_;
    const std::vector<SliceSegment> segments_;
    std::vector<Reduction> reductions_;
};

model::Schedule build(const CallShape& shape) {
    Builder steps;
    RankSteps(shape, steps).add();
    return steps.finish();
}

/* A lane rank has its slices from each other rank of its site and from each other site, and their
   result. */
std::int64_t scratch_units_max(const CallShape& shape) {
    const LaneRanks lane_ranks(shape);
    const auto slice = Bounds(shape.count, lane_ranks.slices()).size(0);
    std::int64_t most = 0;
    for (int site = 0; site < lane_ranks.sites(); ++site) {
        const auto ranks = static_cast<std::int64_t>(lane_ranks.ranks(site).size());
        const auto slices = (lane_ranks.slices() + ranks - 1) / ranks;
        const auto units = std::min(slices * slice, shape.count);
        most = std::max(most, units * (ranks + lane_ranks.sites() - 1));
    }
    return most;
}

}  // namespace

extern const Algorithm allreduce_multilane{
    .collective = Collective::allreduce,
    .name = "multilane",
    .source = "after Chiba, Endo and Matsuoka, 2008",
    .cost = "L+M/(P b(P))+2(n0-1)M/(P b_LAN)",
    .needs = {.commutative = true, .segmented = true, .lanes = true, .sites = true},
    .build = build,
    .scratch_units_max = scratch_units_max,
};

}  // namespace lanewise::collectives
