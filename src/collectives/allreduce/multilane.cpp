// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane allreduce: the vector is cut into P slices. Carrier l of each site
// combines slice l of its site's ranks, the lane_ranks of all sites exchange what
// they have over their lanes, each combines that in the order of the sites, so
// that all get the same bits, and hands the result on in its own site. So the
// vector crosses once each way, P slices at once, in segments.
// Cost: L + M / (P b) + 2 (n - 1)(b_LAN + g) M / P inside a site of n ranks.

#include <algorithm>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/lanes/sites.hpp"

namespace lanewise::collectives {
namespace {

using model::Builder;
using model::Place;
using model::Slice;
using model::StepId;

constexpr std::int64_t own_segment_bytes = 256 * 1024;

struct Segment {
    std::int64_t offset = 0;
    std::int64_t count = 0;
    int slice = 0;

    Slice in(Place place) const { return {place, offset}; }
};

/* Slices take turns. */
std::vector<Segment> segments_of_slices(const CallShape& shape, int slices) {
    std::vector<Segment> found;
    const auto piece = segments_of(shape, shape.count, own_segment_bytes).piece;
    const Bounds bounds(shape.count, slices);
    for (std::int64_t done = 0; done < bounds.size(0); done += piece) {
        for (int slice = 0; slice < slices; ++slice) {
            const auto count = std::min(piece, bounds.size(slice) - done);
            if (count > 0) found.push_back({bounds[slice] + done, count, slice});
        }
    }
    return found;
}

/* A sum of one rank or of a site, and the step after which it is there. */
struct Sum {
    Slice at;
    StepId ready = model::no_step;
};

struct Carried {
    Segment segment;
    std::vector<Sum> of_ranks = {}; /* of its own site */
    std::vector<Sum> of_sites = {}; /* by site; its own has none */
    StepId summed = model::no_step; /* its site's sum is there */
    std::vector<StepId> sent = {};  /* and has left for the others */
};

class Part {
  public:
    Part(const CallShape& shape, Builder& steps)
        : shape_(shape),
          steps_(steps),
          lane_ranks_(shape),
          segments_(segments_of_slices(shape, lane_ranks_.slices())) {}

    /* Contributions leave before results are waited for, since these may lie in the same memory. */
    void build() {
        expect();
        give();
        for (auto& carried : carried_) sum_of_site(carried);
        for (const auto& carried : carried_) result(carried);
    }

  private:
    int lane_rank_here(const Segment& segment) const {
        return lane_ranks_.of(lane_ranks_.site(), segment.slice);
    }

    Sum incoming(int source, const Segment& segment) {
        const auto at = steps_.scratch(segment.count);
        return {at, steps_.receive(source, at, segment.count)};
    }

    void expect() {
        for (const auto& segment : segments_) {
            if (lane_rank_here(segment) != shape_.rank) continue;
            Carried carried{.segment = segment};
            for (const int peer : lane_ranks_.others()) {
                carried.of_ranks.push_back(incoming(peer, segment));
            }
            for (int site = 0; site < lane_ranks_.sites(); ++site) {
                carried.of_sites.push_back(
                    site == lane_ranks_.site()
                        ? Sum{}
                        : incoming(lane_ranks_.of(site, segment.slice), segment));
            }
            carried_.push_back(std::move(carried));
        }
    }

    void give() {
        std::vector<StepId> sent;
        for (const auto& segment : segments_) {
            if (lane_rank_here(segment) == shape_.rank) continue;
            sent.push_back(
                steps_.send(lane_rank_here(segment), segment.in(Place::send), segment.count));
        }
        auto before = sent.begin();
        for (const auto& segment : segments_) {
            if (lane_rank_here(segment) == shape_.rank) continue;
            steps_.receive(lane_rank_here(segment), segment.in(Place::receive), segment.count,
                           {*before++});
        }
    }

    void sum_of_site(Carried& carried) {
        const auto& segment = carried.segment;
        const auto sum = segment.in(Place::receive);
        auto& summed = carried.summed;
        summed = steps_.copy(segment.in(Place::send), sum, segment.count);
        for (const auto& one : carried.of_ranks) {
            summed = steps_.reduce(one.at, sum, segment.count, {one.ready, summed});
        }
        for (int site = 0; site < lane_ranks_.sites(); ++site) {
            if (site == lane_ranks_.site()) continue;
            carried.sent.push_back(
                steps_.send(lane_ranks_.of(site, segment.slice), sum, segment.count, {summed}));
        }
    }

    /* From the last site's sum backwards, apart from the own sum, which must first have left. */
    void result(const Carried& carried) {
        const auto& segment = carried.segment;
        const auto own = segment.in(Place::receive);
        const int last = lane_ranks_.sites() - 1;
        auto sums = carried.of_sites;
        sums[here()] = {own, carried.summed};
        auto total = sums.back();
        if (last > 0 && last == lane_ranks_.site()) {
            total.at = steps_.scratch(segment.count);
            total.ready = steps_.copy(own, total.at, segment.count, {carried.summed});
        }
        for (int site = last - 1; site >= 0; --site) {
            const auto& one = sums[static_cast<std::size_t>(site)];
            total.ready = steps_.reduce(one.at, total.at, segment.count, {one.ready, total.ready});
        }
        if (last > 0) {
            auto after = carried.sent;
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
    const std::vector<Segment> segments_;
    std::vector<Carried> carried_;
};

model::Schedule build(const CallShape& shape) {
    Builder steps;
    Part(shape, steps).build();
    return steps.finish();
}

}  // namespace

extern const Algorithm allreduce_multilane{
    .collective = Collective::allreduce,
    .name = "multilane",
    .source = "after Chiba, Endo and Matsuoka, 2008",
    .cost = "L+M/(P b(P))+2(n0-1)M/(P b_LAN)",
    .needs = {.commutative = true, .segmented = true, .lanes = true, .sites = true},
    .build = build,
};

}  // namespace lanewise::collectives
