// SPDX-License-Identifier: BSD-3-Clause
//
// Dependence: which ranks a rank waits for in each collective. Only what the data demand counts,
// not what an algorithm adds: a rank that receives a broadcast waits for the root, and not for the
// ranks that happen to forward its message.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectives/algorithm.hpp"

namespace lanewise::profile {

enum class WaitsFor : std::uint8_t {
    everybody,   /* every rank for every other rank */
    the_root,    /* every rank but the root for the root; the root for nobody */
    the_others,  /* the root for every other rank; the others for nobody */
    the_lower,   /* every rank for all ranks before it */
    its_sources, /* every rank for the neighbors that the topology gives it as sources */
};

struct Dependence {
    collectives::Collective collective;
    WaitsFor waits_for;
};

/* In the order of the collectives. */
inline constexpr std::array<Dependence, collectives::collective_count> dependences{{
    {collectives::Collective::barrier, WaitsFor::everybody},
    {collectives::Collective::bcast, WaitsFor::the_root},
    {collectives::Collective::scatter, WaitsFor::the_root},
    {collectives::Collective::scatterv, WaitsFor::the_root},
    {collectives::Collective::gather, WaitsFor::the_others},
    {collectives::Collective::gatherv, WaitsFor::the_others},
    {collectives::Collective::allgather, WaitsFor::everybody},
    {collectives::Collective::allgatherv, WaitsFor::everybody},
    {collectives::Collective::alltoall, WaitsFor::everybody},
    {collectives::Collective::alltoallv, WaitsFor::everybody},
    {collectives::Collective::alltoallw, WaitsFor::everybody},
    {collectives::Collective::reduce, WaitsFor::the_others},
    {collectives::Collective::allreduce, WaitsFor::everybody},
    {collectives::Collective::reduce_scatter, WaitsFor::everybody},
    {collectives::Collective::scan, WaitsFor::the_lower},
    {collectives::Collective::exscan, WaitsFor::the_lower},
    {collectives::Collective::neighbor_allgather, WaitsFor::its_sources},
    {collectives::Collective::neighbor_allgatherv, WaitsFor::its_sources},
    {collectives::Collective::neighbor_alltoall, WaitsFor::its_sources},
    {collectives::Collective::neighbor_alltoallv, WaitsFor::its_sources},
    {collectives::Collective::neighbor_alltoallw, WaitsFor::its_sources},
}};

constexpr WaitsFor waits_for(collectives::Collective collective) {
    return dependences[static_cast<std::size_t>(collective)].waits_for;
}

}  // namespace lanewise::profile
