// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided streaming: a window of puts or gets, each with a place of its own,
// then one flush, with the window of memory locked all along. `put_streaming`
// and `get_streaming`: the root with the rank after it; `put_streaming_both`:
// both at once (OSU's put_bw, get_bw and put_bibw; IMB-RMA's aggregate mode).
// The time of one message (each way).

#include "measure/benchmarks/one_sided.hpp"

namespace lanewise::measure {
namespace {

int put_window(Exchange& e, int peer) {
    for (int i = 0; i < e.window; ++i) {
        const int code = put_message(e, peer, i);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_Win_flush(peer, state_of<Window>(e).window);
}

int get_window(Exchange& e, int peer) {
    for (int i = 0; i < e.window; ++i) {
        const int code = get_message(e, peer, i);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_Win_flush(peer, state_of<Window>(e).window);
}

int put_streaming(Exchange& e) {
    return e.rank == e.root ? put_window(e, partner(e)) : MPI_SUCCESS;
}

int get_streaming(Exchange& e) {
    return e.rank == e.root ? get_window(e, partner(e)) : MPI_SUCCESS;
}

int put_streaming_both(Exchange& e) {
    if (e.rank == e.root) return put_window(e, partner(e));
    return e.rank == partner(e) ? put_window(e, e.root) : MPI_SUCCESS;
}

int open_to_read(Exchange& e) { return create_locked(e, e.send, 1); }
int open_to_write(Exchange& e) { return create_locked(e, e.receive, e.window); }

}  // namespace

Entries one_sided_streaming_kernels() {
    const Entry common{.shape = all_ranks(Blocks::one, Blocks::window), .ranks_min = 2,
                       .messages = [](const Exchange& e) { return e.window; }};
    Entries entries(3, common);
    entries[0].name = "put_streaming";
    entries[0].call = put_streaming;
    entries[0].prepare = open_to_write;
    entries[1].name = "get_streaming";
    entries[1].call = get_streaming;
    entries[1].prepare = open_to_read;
    entries[2].name = "put_streaming_both";
    entries[2].call = put_streaming_both;
    entries[2].prepare = open_to_write;
    return entries;
}

}  // namespace lanewise::measure
