// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided patterns of several ranks, with the window locked all along and
// flushed in each execution: `bidirectional_*`, the root and the rank after it
// at once; `exchange_*`, all ranks with both neighbours of the ring;
// `one_*_all`, the root with every other rank; `all_*_all`, all with all others
// (IMB-RMA's Bidir, Exchange, One_put_all, All_put_all and the like).

#include "measure/benchmarks/one_sided.hpp"

namespace lanewise::measure {
namespace {

int flush_all(Exchange& e) { return MPI_Win_flush_all(state_of<Window>(e).window); }

int bidirectional_put(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    return first_failure({put_message(e, e.rank == e.root ? partner(e) : e.root, 0), flush_all(e)});
}

int bidirectional_get(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    return first_failure({get_message(e, e.rank == e.root ? partner(e) : e.root, 0), flush_all(e)});
}

// The first place of a receive buffer is the left neighbour's, the second the right one's.
int exchange_put(Exchange& e) {
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return first_failure({put_message(e, right, 0), put_message(e, left, 1), flush_all(e)});
}

int exchange_get(Exchange& e) {
    const int right = (e.rank + 1) % e.size;
    const int left = (e.rank + e.size - 1) % e.size;
    return first_failure({get_message(e, left, 0), get_message(e, right, 1), flush_all(e)});
}

int one_put_all(Exchange& e) {
    if (e.rank != e.root) return MPI_SUCCESS;
    for (int step = 1; step < e.size; ++step) {
        const int code = put_message(e, (e.root + step) % e.size, 0);
        if (code != MPI_SUCCESS) return code;
    }
    return flush_all(e);
}

// Place `step - 1` is that of the rank so many after (get) or before (put) this one.
int all_put_all(Exchange& e) {
    for (int step = 1; step < e.size; ++step) {
        const int code = put_message(e, (e.rank + step) % e.size, step - 1);
        if (code != MPI_SUCCESS) return code;
    }
    return flush_all(e);
}

int all_get_all(Exchange& e) {
    for (int step = 1; step < e.size; ++step) {
        const int code = get_message(e, (e.rank + step) % e.size, step - 1);
        if (code != MPI_SUCCESS) return code;
    }
    return flush_all(e);
}

int one_get_all(Exchange& e) { return e.rank == e.root ? all_get_all(e) : MPI_SUCCESS; }

int open_to_read(Exchange& e) { return create_locked(e, e.send, 1); }
int open_to_write(Exchange& e) { return create_locked(e, e.receive, 1); }
int open_for_two(Exchange& e) { return create_locked(e, e.receive, 2); }
int open_for_each(Exchange& e) { return create_locked(e, e.receive, e.size); }

}  // namespace

Entries one_sided_pattern_kernels() {
    constexpr auto one = Blocks::one;
    constexpr auto two = Blocks::two;
    constexpr auto each = Blocks::each_rank;
    constexpr Shape to_root{one, one, each, Blocks::none};
    return {
        {.name = "bidirectional_put", .shape = all_ranks(one, one), .call = bidirectional_put,
         .ranks_min = 2, .prepare = open_to_write},
        {.name = "bidirectional_get", .shape = all_ranks(one, one), .call = bidirectional_get,
         .ranks_min = 2, .prepare = open_to_read},
        {.name = "exchange_put", .shape = all_ranks(one, two), .call = exchange_put,
         .ranks_min = 2, .prepare = open_for_two},
        {.name = "exchange_get", .shape = all_ranks(one, two), .call = exchange_get,
         .ranks_min = 2, .prepare = open_to_read},
        {.name = "one_put_all", .shape = all_ranks(one, one), .call = one_put_all, .ranks_min = 2,
         .prepare = open_to_write},
        {.name = "one_get_all", .shape = to_root, .call = one_get_all, .ranks_min = 2,
         .prepare = open_to_read},
        {.name = "all_put_all", .shape = all_ranks(one, each), .call = all_put_all, .ranks_min = 2,
         .prepare = open_for_each},
        {.name = "all_get_all", .shape = all_ranks(one, each), .call = all_get_all, .ranks_min = 2,
         .prepare = open_to_read},
    };
}

}  // namespace lanewise::measure
