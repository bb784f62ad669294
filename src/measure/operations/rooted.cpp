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

Origins own_block_of_root(const Standpoint& s) {
    return {{{s.root}, s.me}};
}
Origins block_of_root(const Standpoint& s) {
    return {{{s.root}}};
}
Origins gathered(const Standpoint& s) {
    return at_root(s, from_each(s, 0));
}
Origins sum_at_root(const Standpoint& s) {
    return at_root(s, {{ranks_from(0, s.size)}});
}

}  // namespace

std::span<const Entry> rooted_operations() {
    static const Entry entries[] = {
        {.name = "scatter",
         .shape = from_root,
         .call = scatter,
         .own = erase(&MPI_Scatter),
         .tasks = true,
         .delivers = own_block_of_root},
        {.name = "scatterv",
         .shape = from_root,
         .call = scatterv,
         .own = erase(&MPI_Scatterv),
         .varying = true,
         .tasks = true,
         .delivers = own_block_of_root},
        {.name = "gather",
         .shape = to_root,
         .call = gather,
         .own = erase(&MPI_Gather),
         .tasks = true,
         .to_root = true,
         .delivers = gathered},
        {.name = "gatherv",
         .shape = to_root,
         .call = gatherv,
         .own = erase(&MPI_Gatherv),
         .varying = true,
         .tasks = true,
         .to_root = true,
         .delivers = gathered},
        {.name = "bcast",
         .shape = vector,
         .call = bcast,
         .own = erase(&MPI_Bcast),
         .tasks = true,
         .delivers = block_of_root},
        {.name = "reduce",
         .shape = folded,
         .element = Element::real,
         .call = reduce,
         .own = erase(&MPI_Reduce),
         .to_root = true,
         .delivers = sum_at_root},
    };
    return entries;
}

}  // namespace lanewise::measure
