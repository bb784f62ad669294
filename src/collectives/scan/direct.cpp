// SPDX-License-Identifier: BSD-3-Clause
//
// Direct scans: each rank gets the vectors of all ranks before it and combines them by itself, in
// the balanced bracketing, as the direct reductions do. No message waits for another.
// Cost, with g the time to combine a byte: a + (n - 1)(bM + gM).

#include <numeric>
#include <vector>

#include "collectives/algorithm.hpp"
#include "collectives/combine_here.hpp"
#include "collectives/scan/prefix.hpp"
#include "collectives/scratch_bound.hpp"

namespace lanewise::collectives {
namespace {

template <Prefixes prefixes>
model::Schedule build(const CallShape& shape) {
    std::vector<int> higher(static_cast<std::size_t>(shape.ranks - shape.rank - 1));
    std::iota(higher.begin(), higher.end(), shape.rank + 1);
    return combine_here(shape, higher, shape.rank + (prefixes == Prefixes::inclusive ? 1 : 0));
}

}  // namespace

extern constexpr Algorithm scan_direct{
    .collective = Collective::scan,
    .name = "direct",
    .source = "MPI Forum, MPI 1.1, 1995, the definition of MPI_SCAN",
    .cost = "a+(n-1)(b+g)M",
    .needs = {},
    .build = build<Prefixes::inclusive>,
    .scratch_units_max = vector_of_all_ranks,
    .posts_at_once = true,
    .bracketing = Bracketing::balanced,
};

extern constexpr Algorithm exscan_direct = exclusive_form(scan_direct, build<Prefixes::exclusive>);

}  // namespace lanewise::collectives
