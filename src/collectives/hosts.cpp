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

}  // namespace

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

HostRow::HostRow(const CallShape& shape, const std::vector<std::vector<int>>& hosts)
    : order{.ranks = shape.ranks, .root = hosts.front().front()}, begins{0} {
    for (const auto& ranks : hosts) {
        const auto found = std::ranges::find(ranks, shape.rank);
        if (found != ranks.end()) {
            host = static_cast<int>(begins.size()) - 1;
            place = static_cast<int>(found - ranks.begin());
        }
        order.rank_of_node.insert(order.rank_of_node.end(), ranks.begin(), ranks.end());
        begins.push_back(static_cast<int>(order.rank_of_node.size()));
    }
}

Node host_row_tree(const HostRow& row) {
    const int begin = row.begin(row.host);
    auto node = binomial_tree(row.place, row.size(row.host));
    for (auto& child : node.children) child.rank += begin;
    if (node.parent >= 0) {
        node.parent += begin;
        return node;
    }
    const auto between = binomial_tree(row.host, row.hosts());
    std::vector<Child> children;
    for (const auto& [host, hosts] : between.children) {
        children.push_back({row.begin(host), row.begin(host + hosts) - row.begin(host)});
    }
    node.children.insert(node.children.begin(), children.begin(), children.end());
    node.subtree = row.begin(row.host + between.subtree) - begin;
    if (between.parent >= 0) node.parent = row.begin(between.parent);
    return node;
}

HostNode host_tree(const CallShape& shape, int root) {
    const HostRow row(shape, hosts_of(shape, root));
    const auto tree = host_row_tree(row);
    HostNode node;
    if (tree.parent >= 0) node.parent = row.order.rank_at(tree.parent);
    for (const auto& child : tree.children) {
        const int rank = row.order.rank_at(child.rank);
        const bool here = host_of(shape, rank) == host_of(shape, shape.rank);
        (here ? node.members : node.leaders).push_back(rank);
    }
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
