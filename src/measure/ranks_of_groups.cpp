// SPDX-License-Identifier: BSD-3-Clause

#include "measure/ranks_of_groups.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "measure/harness/harness.hpp"

namespace lanewise::measure {

namespace {
constexpr std::size_t levels_max = 16; /* with a limit; those further down are not looked at */
using Groups = std::array<std::uint64_t, levels_max>;
}  // namespace

RanksOfGroups ranks_of_groups(const std::vector<GroupLimit>& limits, MPI_Comm host) {
    Groups own{};
    const auto levels = std::min(limits.size(), levels_max);
    for (std::size_t level = 0; level < levels; ++level) own[level] = limits[level].group;
    int size = 0;
    check(MPI_Comm_size(host, &size));
    std::vector<Groups> all(static_cast<std::size_t>(size));
    check(MPI_Allgather(own.data(), levels_max, MPI_UINT64_T, all.data(), levels_max, MPI_UINT64_T,
                        host));
    RanksOfGroups ranks;
    for (std::size_t level = 0; level < levels; ++level) {
        const auto shares = [&](const Groups& one) {
            return std::ranges::find(one, own[level]) != one.end();
        };
        ranks[own[level]] = static_cast<int>(std::ranges::count_if(all, shares));
    }
    return ranks;
}

bool are_too_many(const std::vector<GroupLimit>& limits, const RanksOfGroups& ranks) {
    return std::ranges::any_of(limits, [&](const GroupLimit& limit) {
        const auto found = ranks.find(limit.group);
        return found != ranks.end() && found->second > limit.amount;
    });
}

double share_of(const std::vector<GroupLimit>& limits, const RanksOfGroups& ranks, int all) {
    double share = std::numeric_limits<double>::infinity();
    for (const auto& limit : limits) {
        const auto found = ranks.find(limit.group);
        share = std::min(share, limit.amount / (found != ranks.end() ? found->second : all));
    }
    return share;
}

}  // namespace lanewise::measure
