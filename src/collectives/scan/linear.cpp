// SPDX-License-Identifier: BSD-3-Clause
//
// Scans along the chain of ranks: each rank receives the result of all before it, adds its own
// vector, and hands the whole on. From the left, ((x0 op x1) op x2) ..., in every element.
//
// Cost, with g the time to combine a byte:
// linear: (n - 1)(a + bM + gM).
// pipeline: the same in S segments, which travel one behind the other. (n - 2 + S)(a + (b + g)M/S).

#include "collectives/algorithm.hpp"
#include "collectives/blocks.hpp"
#include "collectives/scan/prefix.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

constexpr std::int64_t segment_bytes = std::int64_t{32} * 1024;

// The next segment is under way while one is combined.
model::Schedule build(const CallShape& shape, Prefixes prefixes, const Pieces& pieces) {
    model::Builder steps;
    const int me = shape.rank;
    const bool takes = me > 0;
    const bool gives = me + 1 < shape.ranks;
    std::vector<Prefix> parts;
    for (int i = 0; i < pieces.number(); ++i) {
        parts.emplace_back(steps, prefixes, pieces.begin(i), pieces.size(i));
    }
    if (takes && !parts.empty()) parts.front().expect(me - 1, gives);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (takes && i + 1 < parts.size()) parts[i + 1].expect(me - 1, gives);
        if (takes) parts[i].combine(gives);
        if (gives) parts[i].give(me + 1);
        parts[i].settle();
    }
    return steps.finish();
}

template <Prefixes prefixes>
model::Schedule build_linear(const CallShape& shape) {
    return build(shape, prefixes, whole(shape.count));
}

template <Prefixes prefixes>
model::Schedule build_pipeline(const CallShape& shape) {
    return build(shape, prefixes, segments_of(shape, shape.count, segment_bytes));
}

}  // namespace

extern constexpr Algorithm scan_linear{
    .collective = Collective::scan,
    .name = "linear",
    .source = "Sanders and Traeff, EuroPVM/MPI 2006",
    .cost = "(n-1)(a+bM+gM)",
    .needs = {},
    .build = build_linear<Prefixes::inclusive>,
    .scratch_units_max = vector_times<1>,
    .bracketing = Bracketing::from_the_left,
};

extern constexpr Algorithm scan_pipeline{
    .collective = Collective::scan,
    .name = "pipeline",
    .source = "Sanders and Traeff, EuroPVM/MPI 2006",
    .cost = "(n-2+S)(a+(b+g)M/S)",
    .needs = {.segmented = true},
    .build = build_pipeline<Prefixes::inclusive>,
    .scratch_units_max = vector_times<1>,
    .bracketing = Bracketing::from_the_left,
};

extern constexpr Algorithm exscan_linear =
    exclusive_form(scan_linear, build_linear<Prefixes::exclusive>);

extern constexpr Algorithm exscan_pipeline =
    exclusive_form(scan_pipeline, build_pipeline<Prefixes::exclusive>);

}  // namespace lanewise::collectives
