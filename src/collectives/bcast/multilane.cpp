// SPDX-License-Identifier: BSD-3-Clause
//
// Multilane broadcast: the vector crosses to each other site in P slices at
// once. The root gives slice l to carrier l of its site, which sends it over its
// lane and then to the rest of its site; the lane's receiver hands it on in its
// own. All in segments, so that the stages overlap. After Chiba, Endo and
// Matsuoka, CCGrid 2007, where several interfaces carry parts of a broadcast.
// Cost: L + M / (P b) + 2 c / b for segments of c bytes.

#include <algorithm>

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/lanes/sites.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::StepId;

constexpr std::int64_t own_segment_bytes = 256 * 1024;

/* A segment of a slice, which all ranks know by its place in one order. */
struct Segment {
    std::int64_t offset = 0;
    std::int64_t count = 0;
    int slice = 0;
};

/* Who hands on what to whom. */
class Relay {
  public:
    explicit Relay(const CallShape& shape) : shape_(shape), sites_(sites_of(shape)) {
        std::size_t most = 1;
        for (const auto& site : sites_) most = std::max(most, site.ranks.size());
        slices_ = static_cast<int>(
            std::min<std::size_t>(most, static_cast<std::size_t>(std::max(1, shape.lanes))));
        for (std::size_t s = 0; s < sites_.size(); ++s) {
            const auto& ranks = sites_[s].ranks;
            if (std::find(ranks.begin(), ranks.end(), shape.rank) != ranks.end()) here_ = s;
        }
    }

    /* Slices take turns. */
    std::vector<Segment> segments() const {
        std::vector<Segment> found;
        const auto whole = segments_of(shape_, shape_.count, own_segment_bytes);
        const Bounds bounds(shape_.count, slices_);
        for (std::int64_t done = 0; done < bounds.size(0); done += whole.piece) {
            for (int slice = 0; slice < slices_; ++slice) {
                const auto count = std::min(whole.piece, bounds.size(slice) - done);
                if (count > 0) found.push_back({bounds[slice] + done, count, slice});
            }
        }
        return found;
    }

    /* Where a slice comes from; -1 at the root. */
    int source(int slice) const {
        if (shape_.is_root()) return -1;
        const int carrier = carrier_at(here_, slice);
        if (shape_.rank != carrier) return carrier;
        return here_ == 0 ? shape_.root : carrier_at(0, slice);
    }

    /* Where a slice goes from here, lanes first. */
    std::vector<int> targets(int slice) const {
        std::vector<int> found;
        const int carrier = carrier_at(here_, slice);
        if (shape_.is_root() && carrier != shape_.rank) return {carrier};
        if (carrier != shape_.rank) return {};
        for (std::size_t s = 1; here_ == 0 && s < sites_.size(); ++s) {
            found.push_back(carrier_at(s, slice));
        }
        for (const int rank : sites_[here_].ranks) {
            if (rank != shape_.rank && rank != shape_.root) found.push_back(rank);
        }
        return found;
    }

  private:
    int carrier_at(std::size_t site, int slice) const {
        const auto& ranks = sites_[site].ranks;
        return ranks[static_cast<std::size_t>(slice) % ranks.size()];
    }

    const CallShape& shape_;
    std::vector<Site> sites_;
    std::size_t here_ = 0;
    int slices_ = 1;
};

model::Schedule build(const CallShape& shape) {
    model::Builder steps;
    const Relay relay(shape);
    const auto segments = relay.segments();
    std::vector<StepId> arrived;
    for (const auto& segment : segments) {
        const int source = relay.source(segment.slice);
        arrived.push_back(
            source < 0 ? model::no_step
                       : steps.receive(source, {Place::receive, segment.offset}, segment.count));
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
        for (const int target : relay.targets(segments[i].slice)) {
            steps.send(target, {Place::receive, segments[i].offset}, segments[i].count,
                       {arrived[i]});
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
