// SPDX-License-Identifier: BSD-3-Clause
//
// Streaming: the root initiates a window of sends to the rank after it, which
// answers once when all have arrived (paper 004, section 3: 160 sends, one
// reply). The time of one message; the size by it is the streaming bandwidth,
// its inverse the message rate (Figs. 8 and 9). Each message has a place of its
// own at the receiver: MPI forbids to receive several into one.

#include "measure/kernels/kernels.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 6;

int pour(Exchange& e, int peer) {
    auto& requests = state_of<Requests>(e);
    for (int i = 0; i < e.window; ++i) {
        const int code = MPI_Isend(e.send, e.count, e.type, peer, tag, e.comm,
                                   requests.at(static_cast<std::size_t>(i)));
        if (code != MPI_SUCCESS) return code;
    }
    const int code = requests.wait(static_cast<std::size_t>(e.window));
    if (code != MPI_SUCCESS) return code;
    return MPI_Recv(nullptr, 0, MPI_BYTE, peer, tag, e.comm, MPI_STATUS_IGNORE);
}

int drain(Exchange& e, int peer) {
    auto& requests = state_of<Requests>(e);
    for (int i = 0; i < e.window; ++i) {
        const int code = MPI_Irecv(slot(e.receive, e, i), e.count, e.type, peer, tag, e.comm,
                                   requests.at(static_cast<std::size_t>(i)));
        if (code != MPI_SUCCESS) return code;
    }
    const int code = requests.wait(static_cast<std::size_t>(e.window));
    if (code != MPI_SUCCESS) return code;
    return MPI_Send(nullptr, 0, MPI_BYTE, peer, tag, e.comm);
}

int streaming(Exchange& e) {
    if (e.rank == e.root) return pour(e, partner(e));
    return e.rank == partner(e) ? drain(e, e.root) : MPI_SUCCESS;
}

}  // namespace

Entries streaming_kernels() {
    return {{.name = "streaming", .shape = all_ranks(Blocks::one, Blocks::window),
             .call = streaming, .ranks_min = 2, .prepare = prepare_requests<1>,
             .messages = [](const Exchange& e) { return e.window; }}};
}

}  // namespace lanewise::measure
