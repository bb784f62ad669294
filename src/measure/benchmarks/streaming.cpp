// SPDX-License-Identifier: BSD-3-Clause
//
// Streaming: the root initiates a window of sends to the rank after it, which
// answers once when all have arrived (InfiniPath and XD1 2006, section 3:
// 160 sends, one reply). The time of one message; the size by it is the streaming bandwidth,
// its inverse the message rate (Figs. 8 and 9). Each message has a place of its
// own at the receiver: MPI forbids to receive several into one.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 6;

int pour(Exchange& e, int peer) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    const int code = post_sends(e, requests, peer, tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure({requests.wait(next), hear(e, peer, tag)});
}

int drain(Exchange& e, int peer) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    const int code = post_receives(e, requests, peer, tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure({requests.wait(next), answer(e, peer, tag)});
}

int streaming(Exchange& e) {
    if (e.rank == e.root) return pour(e, partner(e));
    return e.rank == partner(e) ? drain(e, e.root) : MPI_SUCCESS;
}

}  // namespace

Entries streaming_benchmarks() {
    return {{.name = "streaming",
             .shape = all_ranks(Blocks::one, Blocks::window),
             .call = streaming,
             .ranks_min = 2,
             .prepare = prepare_requests<1>,
             .messages = [](const Exchange& e) { return e.window; },
             .delivers = window_to_partner}};
}

}  // namespace lanewise::measure
