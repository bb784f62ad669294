// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/predict.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/numbering.hpp"
#include "collectives/neighborhood.hpp"
#include "model/platform/lane_network.hpp"

namespace lanewise::collectives {
namespace {

/* Bytes of what the schedule counts: lanewise reduces floats, and moves bytes. */
std::int64_t unit_bytes(Collective collective) {
    return is_reduction(collective) ? sizeof(float) : 1;
}

bool has_counts(Collective collective) {
    switch (collective) {
        case Collective::scatterv:
        case Collective::gatherv:
        case Collective::allgatherv:
        case Collective::reduce_scatter: return true;
        default: return false;
    }
}

std::int64_t units(std::uint64_t bytes, std::int64_t unit) {
    const auto whole = static_cast<std::int64_t>(bytes) / unit;
    return static_cast<std::int64_t>(bytes) % unit == 0 ? whole : whole + 1;
}

/* What the ranks' shapes point at. */
struct Blocks {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> offsets;
};

Blocks blocks_of(const PricedCall& call, std::int64_t count) {
    if (!has_counts(call.collective)) return {};
    Blocks blocks;
    blocks.counts.assign(static_cast<std::size_t>(call.ranks), count);
    blocks.offsets.resize(blocks.counts.size());
    std::exclusive_scan(blocks.counts.begin(), blocks.counts.end(), blocks.offsets.begin(),
                        std::int64_t{0});
    return blocks;
}

/* The blocks of a rank whose neighbors are those of a grid. */
struct GridBlocks {
    std::array<int, grid_degree> sources{};
    std::array<int, grid_degree> destinations{};
    std::array<std::int64_t, grid_degree> counts{};
    std::array<std::int64_t, grid_degree> offsets{};
    std::array<std::int64_t, grid_degree> send_offsets{};

    GridBlocks(Collective collective, const CallShape& of) {
        counts.fill(of.count);
        for (int block = 0; block < grid_degree; ++block) {
            const auto i = static_cast<std::size_t>(block);
            const int received = opposite(block);
            destinations[i] = grid_neighbor(of.ranks, of.rank, block);
            sources[i] = grid_neighbor(of.ranks, of.rank, received);
            offsets[i] = of.count * received;
            if (!sends_one_block(collective)) send_offsets[i] = of.count * block;
        }
    }

    void show_to(CallShape& shape) const {
        shape.sources = sources;
        shape.destinations = destinations;
        shape.counts = shape.send_counts = counts;
        shape.offsets = offsets;
        shape.send_offsets = send_offsets;
    }
};

/* The schedule of the rank of a shape that all ranks share but for that. */
model::Schedule build(const Algorithm& algorithm, CallShape shape) {
    if (!is_neighborhood(algorithm.collective)) return algorithm.build(shape);
    const GridBlocks blocks(algorithm.collective, shape);
    blocks.show_to(shape);
    return algorithm.build(shape);
}

/* Work over all ranks, computed from the root and one other rank, which stands for all others. */
struct Work {
    std::uint64_t steps = 0;
    std::uint64_t costs = 0;
};

Work work_about(const Algorithm& algorithm, CallShape shape) {
    Work work;
    auto counting = *shape.network;
    counting.cost = [&](int from, int to, std::int64_t bytes) {
        ++work.costs;
        return shape.network->cost(from, to, bytes);
    };
    auto own = shape;
    own.network = &counting;
    own.rank = shape.root;
    work.steps = build(algorithm, own).steps.size();
    if (shape.ranks == 1) return work;
    const auto of_root = work;
    own.rank = (shape.root + 1) % shape.ranks;
    work = {};
    work.steps = build(algorithm, own).steps.size();
    const auto others = static_cast<std::uint64_t>(shape.ranks - 1);
    return {of_root.steps + others * work.steps, of_root.costs + others * work.costs};
}

Failure too_many(std::uint64_t count, const char *what, std::uint64_t most, const char *remedy) {
    return {LW_ERR_LIMIT, "about " + std::to_string(count / 1'000'000) + " million " + what +
                              ", more than " + std::to_string(most / 1'000'000) + " million; " +
                              remedy};
}

Outcome within_limits(const Algorithm& algorithm, const CallShape& shape) {
    const char *remedy = "ask for fewer ranks";
    Work work;
    try {
        const model::StepLimit limit(steps_max);
        work = work_about(algorithm, shape);
    } catch (const model::TooManySteps&) {
        return Failure{LW_ERR_LIMIT, "more than " + std::to_string(steps_max / 1'000'000) +
                                         " million steps on one rank; ask for fewer ranks, a "
                                         "smaller size or larger segments"};
    }
    if (work.steps > steps_max) return too_many(work.steps, "steps", steps_max, remedy);
    if (work.costs > costs_max) return too_many(work.costs, "costs to compare", costs_max, remedy);
    return Done{};
}

std::vector<int> numbers_of(const std::vector<std::string>& names, int ranks) {
    if (ranks > static_cast<int>(names.size())) return {};
    Numbering<std::string> numbering;
    std::vector<int> found;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
        found.push_back(numbering.of(names[rank]));
    }
    return found;
}

}  // namespace

Outcome can_be_built(const Algorithm& algorithm, const PricedCall& call) {
    constexpr std::uint64_t least_own_segment_bytes = std::uint64_t{4} * 1024;
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (call.root < 0 || call.root >= call.ranks) {
        return bad_argument("root " + std::to_string(call.root) + " of " +
                            std::to_string(call.ranks) + " ranks is not there; ranks count from 0");
    }
    const auto ranks = static_cast<std::uint64_t>(call.ranks);
    if (ranks > steps_max) return too_many(ranks, "ranks", steps_max, "ask for fewer ranks");
    if (call.message_bytes > most / 8 / ranks || call.segment_bytes > most) {
        return Failure{LW_ERR_LIMIT, std::to_string(call.message_bytes) + " bytes on " +
                                         std::to_string(ranks) +
                                         " ranks are more than can be counted; ask for less"};
    }
    const auto segment_bytes = call.segment_bytes ? call.segment_bytes : least_own_segment_bytes;
    const auto segments = call.message_bytes / segment_bytes;
    if (algorithm.needs.segmented && segments > steps_max)
        return too_many(segments, "segments", steps_max, "ask for larger segments");
    return Done{};
}

Places places_of(const model::Platform& platform, int ranks) {
    return {numbers_of(platform.hosts, ranks), numbers_of(platform.sites, ranks)};
}

Result<Networks> networks_of(const model::Platform& platform, int ranks) {
    auto best = model::network(platform, "", ranks);
    if (!best) return best.failure();
    Networks networks{.best = std::make_shared<const model::Network>(std::move(*best)),
                      .lanes = nullptr};
    auto lanes = model::lane_network(platform, ranks);
    if (lanes) networks.lanes = std::make_shared<const model::Network>(std::move(*lanes));
    return networks;
}

Result<Networks> read_networks(const std::string& path, int ranks) {
    const auto platform = model::read_platform(path);
    if (!platform) return platform.failure();
    return networks_of(*platform, ranks);
}

Result<model::Priced> predict(const Algorithm& algorithm, const PricedCall& call,
                              const model::Network& network, const model::Watch& watch) {
    const auto several = [](std::span<const int> numbers) {
        return std::ranges::any_of(numbers, [&](int one) { return one != numbers.front(); });
    };
    const CallTraits traits{.ranks = call.ranks,
                            .platform = true,
                            .hosts = several(call.hosts),
                            .sites = several(call.sites)};
    const auto reason = refusal(algorithm, traits);
    if (!reason.empty()) return Failure{LW_ERR_UNSUPPORTED, std::string(reason)};
    const auto possible = can_be_built(algorithm, call);
    if (!possible) return possible.failure();
    const auto unit = unit_bytes(call.collective);
    CallShape shape;
    shape.ranks = call.ranks;
    shape.root = call.root;
    shape.count = units(call.message_bytes, unit);
    const auto blocks = blocks_of(call, shape.count);
    shape.counts = blocks.counts;
    shape.offsets = blocks.offsets;
    shape.unit_bytes = unit;
    shape.segment = units(call.segment_bytes, unit);
    shape.lanes = call.lanes;
    shape.hosts = call.hosts;
    shape.sites = call.sites;
    shape.network = &network;
    const auto allowed = within_limits(algorithm, shape);
    if (!allowed) return allowed.failure();
    auto priced = model::price(
        network, call.ranks,
        [&](int rank) {
            auto own = shape;
            own.rank = rank;
            return build(algorithm, own);
        },
        unit, watch);
    if (!priced.finished) return Failure{LW_ERR_UNSUPPORTED, "cannot finish: " + priced.waiting};
    return priced;
}

}  // namespace lanewise::collectives
