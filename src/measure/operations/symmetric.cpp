// SPDX-License-Identifier: BSD-3-Clause
//
// Operations without a root: all ranks give and all ranks get.

#include "measure/harness/operation.hpp"

namespace lanewise::measure {
namespace {

int allreduce(Exchange& e) {
    return reinterpret_cast<lw_allreduce_fn>(e.function)(e.send, e.receive, e.count, e.type,
                                                         MPI_SUM, e.comm);
}

int allgather(Exchange& e) {
    return reinterpret_cast<lw_allgather_fn>(e.function)(e.send, e.count, e.type, e.receive,
                                                         e.count, e.type, e.comm);
}

int allgatherv(Exchange& e) {
    return MPI_Allgatherv(e.send, e.counts[static_cast<std::size_t>(e.rank)], e.type, e.receive,
                          e.counts.data(), e.displacements.data(), e.type, e.comm);
}

int alltoall(Exchange& e) {
    return reinterpret_cast<lw_alltoall_fn>(e.function)(e.send, e.count, e.type, e.receive, e.count,
                                                        e.type, e.comm);
}

// Rank i gives every other the block of weight i's size, so counts stay symmetric.
int alltoallv(Exchange& e) {
    return MPI_Alltoallv(e.send, e.own_counts.data(), e.own_displacements.data(), e.type, e.receive,
                         e.counts.data(), e.displacements.data(), e.type, e.comm);
}

// Elements are bytes, so displacements in bytes are those of alltoallv.
int alltoallw(Exchange& e) {
    return MPI_Alltoallw(e.send, e.own_counts.data(), e.own_displacements_bytes.data(),
                         e.types.data(), e.receive, e.counts.data(), e.displacements_bytes.data(),
                         e.types.data(), e.comm);
}

int reduce_scatter(Exchange& e) {
    return MPI_Reduce_scatter(e.send, e.receive, e.counts.data(), e.type, MPI_SUM, e.comm);
}

int reduce_scatter_block(Exchange& e) {
    return MPI_Reduce_scatter_block(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm);
}

int scan(Exchange& e) {
    return MPI_Scan(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm);
}

int exscan(Exchange& e) {
    return MPI_Exscan(e.send, e.receive, e.count, e.type, MPI_SUM, e.comm);
}

int barrier(Exchange& e) {
    return reinterpret_cast<lw_barrier_fn>(e.function)(e.comm);
}

constexpr BufferShape shape(Blocks send, Blocks receive) {
    return {send, send, receive, receive};
}

template <typename F>
Function erase(F function) {
    return reinterpret_cast<Function>(function);
}

Origins sum(const Standpoint& s) {
    return {{ranks_from(0, s.size)}};
}
Origins own_of_sum(const Standpoint& s) {
    return {{ranks_from(0, s.size), s.me}};
}
Origins first_of_each(const Standpoint& s) {
    return from_each(s, 0);
}
Origins own_of_each(const Standpoint& s) {
    return from_each(s, s.me);
}
Origins sum_up_to_here(const Standpoint& s) {
    return {{ranks_from(0, s.me + 1)}};
}
Origins sum_before(const Standpoint& s) {
    return s.me == 0 ? Origins{} : Origins{{ranks_from(0, s.me)}};
}

}  // namespace

std::span<const Entry> symmetric_operations() {
    constexpr auto one = Blocks::one;
    constexpr auto each = Blocks::each_rank;
    static const Entry entries[] = {
        {.name = "allreduce",
         .shape = shape(one, one),
         .element = Element::real,
         .call = allreduce,
         .own = erase(&MPI_Allreduce),
         .delivers = sum},
        {.name = "allgather",
         .shape = shape(one, each),
         .call = allgather,
         .own = erase(&MPI_Allgather),
         .delivers = first_of_each},
        {.name = "allgatherv",
         .shape = shape(one, each),
         .call = allgatherv,
         .varying = true,
         .delivers = first_of_each},
        {.name = "alltoall",
         .shape = shape(each, each),
         .call = alltoall,
         .own = erase(&MPI_Alltoall),
         .delivers = own_of_each},
        {.name = "alltoallv",
         .shape = shape(each, each),
         .call = alltoallv,
         .varying = true,
         .delivers = own_of_each},
        {.name = "alltoallw",
         .shape = shape(each, each),
         .call = alltoallw,
         .varying = true,
         .bytewise = true,
         .delivers = own_of_each},
        {.name = "reduce_scatter",
         .shape = shape(each, one),
         .element = Element::real,
         .call = reduce_scatter,
         .varying = true,
         .delivers = own_of_sum},
        {.name = "reduce_scatter_block",
         .shape = shape(each, one),
         .element = Element::real,
         .call = reduce_scatter_block,
         .delivers = own_of_sum},
        {.name = "scan",
         .shape = shape(one, one),
         .element = Element::real,
         .call = scan,
         .delivers = sum_up_to_here},
        {.name = "exscan",
         .shape = shape(one, one),
         .element = Element::real,
         .call = exscan,
         .delivers = sum_before},
        {.name = "barrier", .shape = {}, .call = barrier, .own = erase(&MPI_Barrier)},
    };
    return entries;
}

}  // namespace lanewise::measure
