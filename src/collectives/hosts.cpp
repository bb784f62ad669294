// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/hosts.hpp"

#include <algorithm>
#include <map>

#include "collectives/tree.hpp"

namespace lanewise::collectives {
namespace {

int host_of(const CallShape& shape, int rank) {
    return shape.hosts.empty() ? 0 : shape.hosts[static_cast<std::size_t>(rank)];
}

/* The ranks of each host, leaders first, the host of the root first. */
std::vector<std::vector<int>> hosts_of(const CallShape& shape, int root) {
    std::map<int, std::size_t> numbers{{host_of(shape, root), 0}};
    std::vector<std::vector<int>> hosts{{root}};
    for (int rank = 0; rank < shape.ranks; ++rank) {
        if (rank == root) continue;
        const auto [found, unseen] = numbers.try_emplace(host_of(shape, rank), hosts.size());
        if (unseen) hosts.emplace_back();
        hosts[found->second].push_back(rank);
    }
    return hosts;
}

}  // namespace

HostNode host_tree(const CallShape& shape, int root) {
    const auto hosts = hosts_of(shape, root);
    const auto own = std::ranges::find_if(
        hosts, [&](const auto& ranks) { return std::ranges::count(ranks, shape.rank) > 0; });
    const int host = static_cast<int>(own - hosts.begin());
    const int place = static_cast<int>(std::ranges::find(*own, shape.rank) - own->begin());
    HostNode node;
    const auto inside = binomial_tree(place, static_cast<int>(own->size()));
    for (const auto& child : inside.children) {
        node.members.push_back((*own)[static_cast<std::size_t>(child.rank)]);
    }
    if (inside.parent >= 0) {
        node.parent = (*own)[static_cast<std::size_t>(inside.parent)];
        return node;
    }
    const auto between = binomial_tree(host, static_cast<int>(hosts.size()));
    const auto leader = [&](int number) { return hosts[static_cast<std::size_t>(number)].front(); };
    for (const auto& child : between.children) node.leaders.push_back(leader(child.rank));
    if (between.parent >= 0) node.parent = leader(between.parent);
    return node;
}

Leaders leaders_of(const CallShape& shape, int root) {
    Leaders leaders;
    for (const auto& ranks : hosts_of(shape, root)) {
        if (ranks.front() == shape.rank) leaders.own = static_cast<int>(leaders.ranks.size());
        leaders.ranks.push_back(ranks.front());
    }
    return leaders;
}

}  // namespace lanewise::collectives
