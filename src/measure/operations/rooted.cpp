// SPDX-License-Identifier: BSD-3-Clause
//
// Operations with a root: scatter(v), gather(v), bcast, reduce. Any function
// with the MPI's signature may stand in for the MPI's own.

#include "measure/harness/operation.hpp"

namespace lanewise::measure {
namespace {

int scatter(Exchange& e) {
    return reinterpret_cast<lw_scatter_fn>(e.function)(e.send, e.count, e.type, e.receive, e.count,
                                                       e.type, e.root, e.comm);
}

int scatterv(Exchange& e) {
    return reinterpret_cast<lw_scatterv_fn>(e.function)(
        e.send, e.counts.data(), e.displacements.data(), e.type, e.receive,
        e.counts[static_cast<std::size_t>(e.rank)], e.type, e.root, e.comm);
}

int gather(Exchange& e) {
    return reinterpret_cast<lw_gather_fn>(e.function)(e.send, e.count, e.type, e.receive, e.count,
                                                      e.type, e.root, e.comm);
}

int gatherv(Exchange& e) {
    return reinterpret_cast<lw_gatherv_fn>(e.function)(
        e.send, e.counts[static_cast<std::size_t>(e.rank)], e.type, e.receive, e.counts.data(),
        e.displacements.data(), e.type, e.root, e.comm);
}

int bcast(Exchange& e) {
    return reinterpret_cast<lw_bcast_fn>(e.function)(e.send, e.count, e.type, e.root, e.comm);
}

int reduce(Exchange& e) {
    return reinterpret_cast<lw_reduce_fn>(e.function)(e.send, e.receive, e.count, e.type, MPI_SUM,
                                                      e.root, e.comm);
}

constexpr BufferShape from_root{
    .send_root = Blocks::each_rank, .receive_root = Blocks::one, .receive_others = Blocks::one};
constexpr BufferShape to_root{
    .send_root = Blocks::one, .send_others = Blocks::one, .receive_root = Blocks::each_rank};
constexpr BufferShape vector{.send_root = Blocks::one, .send_others = Blocks::one};
constexpr BufferShape folded{
    .send_root = Blocks::one, .send_others = Blocks::one, .receive_root = Blocks::one};

template <typename F>
Function erase(F function) {
    return reinterpret_cast<Function>(function);
}

}  // namespace

std::span<const Entry> rooted_operations() {
    static const Entry entries[] = {
        {.name = "scatter", .shape = from_root, .call = scatter, .own = erase(&MPI_Scatter),
         .tasks = true},
        {.name = "scatterv", .shape = from_root, .call = scatterv, .own = erase(&MPI_Scatterv),
         .varying = true, .tasks = true},
        {.name = "gather", .shape = to_root, .call = gather, .own = erase(&MPI_Gather),
         .tasks = true, .to_root = true},
        {.name = "gatherv", .shape = to_root, .call = gatherv, .own = erase(&MPI_Gatherv),
         .varying = true, .tasks = true, .to_root = true},
        {.name = "bcast", .shape = vector, .call = bcast, .own = erase(&MPI_Bcast), .tasks = true},
        {.name = "reduce", .shape = folded, .element = Element::real, .call = reduce,
         .own = erase(&MPI_Reduce), .to_root = true},
    };
    return entries;
}

}  // namespace lanewise::measure
