// SPDX-License-Identifier: BSD-3-Clause
//
// The OSU micro-benchmarks 7.4 (D. K. Panda and others, The Ohio State University).
// What a benchmark does is in their README; how often it does it, and where it reads the
// clock, was seen by running the programs on a library that lists their MPI calls; for
// multi_lat, latency_persistent, put_bibw and get_acc_latency it is in their sources.

#include "measure/definitions/families.hpp"

namespace lanewise::measure {
namespace {

template <std::uint32_t warm_up, std::uint32_t timed, std::uint32_t fewer>
Calls by_size(std::uint64_t message_bytes, double) {
    constexpr std::uint64_t small_bytes_max = 8192;
    if (message_bytes <= small_bytes_max) return {warm_up, timed};
    return {warm_up / fewer, timed / fewer};
}

constexpr auto *many = by_size<100, 10000, 10>;
constexpr auto *some = by_size<100, 1000, 10>;
constexpr auto *windows = by_size<10, 100, 5>;

constexpr auto each = Clocked::around_each;
constexpr Loop latency{.clocked = each, .across = Across::first, .calls = many};
constexpr Loop bandwidth{
    .clocked = each, .across = Across::first, .calls = windows, .manner = {.one_place = true}};
constexpr Loop one_sided{.clocked = Clocked::around_both,
                         .across = Across::first,
                         .calls = many,
                         .manner = {.allocates = true}};
constexpr Loop one_sided_bandwidth{.clocked = Clocked::around_both,
                                   .across = Across::first,
                                   .calls = windows,
                                   .manner = {.allocates = true}};
/* Of these alone the program makes the window and locks it for itself. */
constexpr Loop locked{.clocked = Clocked::around_both,
                      .across = Across::first,
                      .calls = many,
                      .manner = {.adds_chars = true, .excludes = true}};
constexpr Loop pairs{.clocked = each, .across = Across::senders, .meets = true, .calls = many};
constexpr Loop message_rate{
    .clocked = each, .across = Across::senders, .calls = windows, .manner = {.one_place = true}};
constexpr Loop collective{.clocked = each, .meets = true, .calls = some};
constexpr Loop reduction{
    .clocked = each, .meets = true, .calls = some, .manner = {.adds_chars = true}};
constexpr Loop reduction_to_blocks{.clocked = each,
                                   .meets = true,
                                   .calls = some,
                                   .manner = {.adds_chars = true},
                                   .whole_vector = true};
/* The only collectives without another barrier between their calls. */
constexpr Loop barrier{.clocked = each, .calls = some};
constexpr Loop nonblocking_barrier{.clocked = each, .calls = by_size<10, 100, 1>};

constexpr Family families[] = {
    {&latency, {"pingpong", "thread_pairs", "persistent_pingpong"}},
    {&pairs, {"pairs_pingpong"}},
    {&one_sided,
     {"put_flush", "get_flush", "accumulate_flush", "fetch_op_flush", "compare_swap_flush"}},
    {&locked, {"get_accumulate_lock"}},
    {&bandwidth,
     {"streaming", "bidirectional", "persistent_streaming", "persistent_bidirectional",
      "fan_in_rate", "fan_out_rate"}},
    {&one_sided_bandwidth, {"put_streaming", "get_streaming", "put_streaming_both_pscw"}},
    {&message_rate, {"pairs_rate"}},
    {&reduction, {"allreduce", "reduce"}},
    {&reduction_to_blocks, {"reduce_scatter", "reduce_scatter_block"}},
    {&barrier, {"barrier", "persistent_barrier"}},
    {&nonblocking_barrier, {"ibarrier"}},
    {&collective,
     {"bcast", "scatter", "scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall",
      "alltoallv", "alltoallw"}},
    {&collective,
     {"grid_allgather", "grid_allgatherv", "grid_alltoall", "grid_alltoallv", "grid_alltoallw",
      "igrid_allgather", "igrid_allgatherv", "igrid_alltoall", "igrid_alltoallv",
      "igrid_alltoallw"}},
};

const Loop *loop_of(const std::string& operation) {
    if (const auto *found = loop_in(families, operation)) return found;
    const auto *blocking = loop_in(families, blocking_form(operation));
    return blocking && blocking->meets ? blocking : nullptr;
}

}  // namespace

extern const Definition osu_definition{
    .name = "osu",
    .tool = "OSU 7.4",
    .window = 64,
    .loop_of = loop_of,
};

}  // namespace lanewise::measure
