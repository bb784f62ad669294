// SPDX-License-Identifier: BSD-3-Clause
//
// Bidirectional bandwidth: the root and the rank after it each post a window of
// receives, then send a window. The time of one message each way; twice the
// size by it is the bandwidth (OSU's bibw, IMB's Biband).

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

int bidirectional(Exchange& e) {
    constexpr int tag = 7;
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    const int peer = e.rank == e.root ? partner(e) : e.root;
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    const int code = post_receives(e, requests, peer, tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure({post_sends(e, requests, peer, tag, e.window, next), requests.wait(next)});
}

}  // namespace

Entries bidirectional_benchmarks() {
    return {{.name = "bidirectional",
             .shape = all_ranks(Blocks::one, Blocks::window),
             .call = bidirectional,
             .ranks_min = 2,
             .prepare = prepare_requests<2>,
             .messages = [](const Exchange& e) { return e.window; },
             .delivers = window_to_each_partner}};
}

}  // namespace lanewise::measure
