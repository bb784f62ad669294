// SPDX-License-Identifier: BSD-3-Clause
//
// The Intel MPI Benchmarks 2021.11. What a benchmark does, the 1000 repetitions of at
// most 40 MiB in at most 10 s, and the size of Reduce_scatter are in their user guide
// (2021.8); how a size is warmed up, and where the clock is read, was seen by running
// the programs on a library that lists their MPI calls. How an overlap is made, and that
// its three times are those of the rank whose collective and work together take longest,
// is in the sources of the suite.

#include <cmath>

#include "measure/definitions/families.hpp"

namespace lanewise::measure {
namespace {

constexpr double volume_bytes = 40.0 * (1 << 20);
constexpr double time_s = 10.0;

template <std::uint32_t most>
Calls by_volume(std::uint64_t message_bytes, double call_s) {
    const double size_bytes = std::max(1.0, static_cast<double>(message_bytes));
    const double in_volume = volume_bytes / size_bytes;
    const double in_time = call_s > 0.0 ? time_s / call_s : most;
    const double count = std::floor(std::min({double{most}, in_volume, in_time}));
    const auto timed = static_cast<std::uint32_t>(std::max(1.0, count));
    return {.warm_up = std::max(10U, timed / 10), .timed = timed};
}

constexpr auto *aggregate = by_volume<1000>;
constexpr auto *one_by_one = by_volume<100>;

constexpr Loop single_transfer{.across = Across::first, .calls = aggregate};
constexpr Loop windows{.across = Across::first, .calls = aggregate, .manner = {.one_place = true}};
constexpr Loop parallel_transfer{.calls = aggregate};
constexpr Loop collective{.clocked = Clocked::around_each, .meets = true, .calls = aggregate};
constexpr Loop overlap{.clocked = Clocked::around_each,
                       .across = Across::slowest,
                       .meets = true,
                       .calls = aggregate,
                       .overlaps = true};
constexpr Loop overlap_of_barrier{.across = Across::slowest, .calls = aggregate, .overlaps = true};
/* The only one whose root is another rank in each call with work. */
constexpr Loop overlap_of_reduce{.clocked = Clocked::around_each,
                                 .across = Across::slowest,
                                 .meets = true,
                                 .calls = aggregate,
                                 .manner = {.any_root = true},
                                 .overlaps = true};
constexpr Loop one_sided{.across = Across::first, .calls = one_by_one};
constexpr Loop all_one_sided{.calls = one_by_one};

constexpr Family families[] = {
    {&single_transfer, {"pingpong", "pingpong_any_source", "pingping", "pingping_any_source"}},
    {&windows, {"streaming", "bidirectional"}},
    {&parallel_transfer,
     {"sendrecv", "exchange", "sendrecv_replace", "barrier", "ibarrier", "unirandom_rate",
      "birandom_rate", "peers_rate", "grid_alltoall", "grid3_alltoall"}},
    {&collective,
     {"bcast", "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "allgather",
      "allgatherv", "gather", "gatherv", "scatter", "scatterv", "alltoall", "alltoallv"}},
    {&overlap,
     {"overlapped_ibcast", "overlapped_iallreduce", "overlapped_ireduce_scatter",
      "overlapped_iallgather", "overlapped_iallgatherv", "overlapped_igather",
      "overlapped_igatherv", "overlapped_iscatter", "overlapped_iscatterv", "overlapped_ialltoall",
      "overlapped_ialltoallv"}},
    {&overlap_of_reduce, {"overlapped_ireduce"}},
    {&overlap_of_barrier, {"overlapped_ibarrier"}},
    {&one_sided,
     {"put_flush", "get_flush", "accumulate_flush", "get_accumulate_flush", "fetch_op_flush",
      "compare_swap_flush", "passive_put", "one_put_all", "one_get_all"}},
    {&all_one_sided,
     {"bidirectional_put", "bidirectional_get", "exchange_put", "exchange_get", "all_put_all",
      "all_get_all"}},
};

const Loop *loop_of(const std::string& operation) {
    if (const auto *found = loop_in(families, operation)) return found;
    if (!operation.starts_with('i')) return nullptr;
    return loop_in(families, blocking_form(operation)) ? &collective : nullptr;
}

}  // namespace

extern const Definition imb_definition{
    .name = "imb",
    .tool = "IMB 2021.11",
    .window = 256,
    .loop_of = loop_of,
};

}  // namespace lanewise::measure
