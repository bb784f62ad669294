// SPDX-License-Identifier: BSD-3-Clause
//
// Registry: every algorithm, one line each, and the families that hold more of them.

#include <algorithm>
#include <array>

#include "collectives/algorithm.hpp"
#include "collectives/knomial.hpp"

#define LANEWISE_ALGORITHMS(X)          \
    X(barrier_dissemination)            \
    X(barrier_tree)                     \
    X(barrier_two_level)                \
    X(bcast_binomial)                   \
    X(bcast_chain)                      \
    X(bcast_knomial_3)                  \
    X(bcast_knomial_4)                  \
    X(bcast_knomial_8)                  \
    X(bcast_linear)                     \
    X(bcast_multilane)                  \
    X(bcast_pipeline)                   \
    X(bcast_ring)                       \
    X(bcast_scatter_allgather)          \
    X(bcast_split_binary)               \
    X(bcast_two_level)                  \
    X(scatter_binomial)                 \
    X(scatter_knomial_3)                \
    X(scatter_knomial_4)                \
    X(scatter_knomial_8)                \
    X(scatter_linear)                   \
    X(scatter_linear_nb)                \
    X(scatter_lmo_binomial)             \
    X(scatter_multilane)                \
    X(scatter_single_lane)              \
    X(scatter_split)                    \
    X(scatter_three_step)               \
    X(scatter_two_level)                \
    X(scatterv_binomial)                \
    X(scatterv_linear)                  \
    X(scatterv_linear_nb)               \
    X(scatterv_lmo_binomial)            \
    X(scatterv_multilane)               \
    X(scatterv_two_level)               \
    X(gather_binomial)                  \
    X(gather_knomial_3)                 \
    X(gather_knomial_4)                 \
    X(gather_knomial_8)                 \
    X(gather_linear)                    \
    X(gather_linear_nb)                 \
    X(gather_lmo_binomial)              \
    X(gather_multilane)                 \
    X(gather_single_lane)               \
    X(gather_split)                     \
    X(gather_three_step)                \
    X(gather_two_level)                 \
    X(gatherv_binomial)                 \
    X(gatherv_linear)                   \
    X(gatherv_linear_nb)                \
    X(gatherv_lmo_binomial)             \
    X(gatherv_multilane)                \
    X(gatherv_two_level)                \
    X(allgather_bruck)                  \
    X(allgather_linear_nb)              \
    X(allgather_multilane)              \
    X(allgather_neighbor_exchange)      \
    X(allgather_recursive_doubling)     \
    X(allgather_ring)                   \
    X(allgather_two_level)              \
    X(allgatherv_bruck)                 \
    X(allgatherv_linear_nb)             \
    X(allgatherv_multilane)             \
    X(allgatherv_neighbor_exchange)     \
    X(allgatherv_recursive_doubling)    \
    X(allgatherv_ring)                  \
    X(allgatherv_two_level)             \
    X(alltoall_bruck)                   \
    X(alltoall_linear_nb)               \
    X(alltoall_pairwise)                \
    X(alltoall_two_level)               \
    X(alltoallv_linear_nb)              \
    X(alltoallv_pairwise)               \
    X(alltoallv_scattered_4)            \
    X(alltoallv_scattered_16)           \
    X(alltoallw_linear_nb)              \
    X(alltoallw_pairwise)               \
    X(alltoallw_scattered_4)            \
    X(alltoallw_scattered_16)           \
    X(reduce_binomial)                  \
    X(reduce_direct)                    \
    X(reduce_knomial_3)                 \
    X(reduce_knomial_4)                 \
    X(reduce_knomial_8)                 \
    X(reduce_linear)                    \
    X(reduce_linear_nb)                 \
    X(reduce_rabenseifner)              \
    X(reduce_two_level)                 \
    X(allreduce_binomial)               \
    X(allreduce_direct)                 \
    X(allreduce_linear)                 \
    X(allreduce_linear_nb)              \
    X(allreduce_multilane)              \
    X(allreduce_rabenseifner)           \
    X(allreduce_recursive_doubling)     \
    X(allreduce_ring)                   \
    X(allreduce_two_level)              \
    X(reduce_scatter_binomial)          \
    X(reduce_scatter_direct)            \
    X(reduce_scatter_linear)            \
    X(reduce_scatter_recursive_halving) \
    X(reduce_scatter_ring)              \
    X(scan_binomial)                    \
    X(scan_direct)                      \
    X(scan_linear)                      \
    X(scan_pipeline)                    \
    X(scan_recursive_doubling)          \
    X(exscan_binomial)                  \
    X(exscan_direct)                    \
    X(exscan_linear)                    \
    X(exscan_pipeline)                  \
    X(exscan_recursive_doubling)        \
    X(neighbor_allgather_linear_nb)     \
    X(neighbor_allgather_pairwise)      \
    X(neighbor_allgather_scattered_4)   \
    X(neighbor_allgather_scattered_16)  \
    X(neighbor_allgatherv_linear_nb)    \
    X(neighbor_allgatherv_pairwise)     \
    X(neighbor_allgatherv_scattered_4)  \
    X(neighbor_allgatherv_scattered_16) \
    X(neighbor_alltoall_linear_nb)      \
    X(neighbor_alltoall_pairwise)       \
    X(neighbor_alltoall_scattered_4)    \
    X(neighbor_alltoall_scattered_16)   \
    X(neighbor_alltoallv_linear_nb)     \
    X(neighbor_alltoallv_pairwise)      \
    X(neighbor_alltoallv_scattered_4)   \
    X(neighbor_alltoallv_scattered_16)  \
    X(neighbor_alltoallw_linear_nb)     \
    X(neighbor_alltoallw_pairwise)      \
    X(neighbor_alltoallw_scattered_4)   \
    X(neighbor_alltoallw_scattered_16)

#define LANEWISE_KNOMIAL_FAMILIES(X) \
    X(bcast_knomial)                 \
    X(scatter_knomial)               \
    X(gather_knomial)                \
    X(reduce_knomial)

namespace lanewise::collectives {

#define LANEWISE_DECLARE(name) extern const Algorithm name;
LANEWISE_ALGORITHMS(LANEWISE_DECLARE)
#undef LANEWISE_DECLARE

#define LANEWISE_DECLARE(name) extern const KnomialFamily name;
LANEWISE_KNOMIAL_FAMILIES(LANEWISE_DECLARE)
#undef LANEWISE_DECLARE

namespace {

#define LANEWISE_ADDRESS(name) &(name),
constexpr std::array registered = {LANEWISE_ALGORITHMS(LANEWISE_ADDRESS)};
constexpr std::array families = {LANEWISE_KNOMIAL_FAMILIES(LANEWISE_ADDRESS)};
#undef LANEWISE_ADDRESS

constexpr std::array<const char *, collective_count> names = {"barrier",
                                                              "bcast",
                                                              "scatter",
                                                              "scatterv",
                                                              "gather",
                                                              "gatherv",
                                                              "allgather",
                                                              "allgatherv",
                                                              "alltoall",
                                                              "alltoallv",
                                                              "alltoallw",
                                                              "reduce",
                                                              "allreduce",
                                                              "reduce_scatter",
                                                              "scan",
                                                              "exscan",
                                                              "neighbor_allgather",
                                                              "neighbor_allgatherv",
                                                              "neighbor_alltoall",
                                                              "neighbor_alltoallv",
                                                              "neighbor_alltoallw"};

}  // namespace

const char *name_of(Collective collective) {
    return names[static_cast<std::size_t>(collective)];
}

std::optional<Collective> collective_named(std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Collective>(found - names.begin());
}

std::string name_of(Operation operation) {
    const char *name = name_of(operation.collective);
    return operation.calling == Calling::nonblocking ? std::string("i") + name : name;
}

std::optional<Operation> operation_named(std::string_view name) {
    if (const auto collective = collective_named(name)) return *collective;
    if (!name.starts_with('i')) return std::nullopt;
    const auto collective = collective_named(name.substr(1));
    if (!collective) return std::nullopt;
    return Operation(*collective, Calling::nonblocking);
}

std::span<const Algorithm *const> algorithms() {
    return registered;
}

const Algorithm *find_algorithm(Collective collective, std::string_view name) {
    for (const auto *algorithm : registered) {
        if (algorithm->collective == collective && algorithm->name == name) return algorithm;
    }
    for (const auto *family : families) {
        if (family->front().collective != collective) continue;
        for (const auto& algorithm : *family) {
            if (algorithm.name == name) return &algorithm;
        }
    }
    return nullptr;
}

std::string_view refusal(const Algorithm& algorithm, const CallTraits& call) {
    const auto& needs = algorithm.needs;
    if (needs.commutative && !call.commutative) return "the operator does not commute";
    if (needs.power_of_two && (call.ranks & (call.ranks - 1)) != 0) {
        return "the number of ranks is not a power of two";
    }
    if (needs.even_ranks && call.ranks % 2 != 0) return "the number of ranks is odd";
    if (needs.hosts && !call.hosts) return "all ranks are on one host, or their hosts are unknown";
    if (needs.sites && !call.sites) return "all ranks are at one site, or their sites are unknown";
    if (needs.platform && !call.platform) return "no platform is known";
    if (needs.single_edges && call.repeated_edges) {
        return "some rank is a neighbour of another more than once";
    }
    return {};
}

}  // namespace lanewise::collectives
