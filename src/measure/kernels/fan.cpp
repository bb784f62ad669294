// SPDX-License-Identifier: BSD-3-Clause
//
// Fans: `fan_in_rate`, all other ranks stream to the root at once, which answers
// each when all have arrived; `fan_out_rate`, the root streams to all of them
// and each answers. The window is shared out among them (OSU's bw_fan_in and
// bw_fan_out). The time of one message.

#include <algorithm>

#include "measure/kernels/kernels.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 17;
constexpr int reply_tag = 18;

int share(const Exchange& e) { return std::max(1, e.window / (e.size - 1)); }

int messages(const Exchange& e) { return share(e) * (e.size - 1); }

template <typename Post>
int post_share(const Exchange& e, Requests& requests, std::size_t& next, Post&& post) {
    for (int i = 0; i < share(e); ++i) {
        const int code = post(static_cast<int>(next), requests.at(next));
        if (code != MPI_SUCCESS) return code;
        ++next;
    }
    return MPI_SUCCESS;
}

int send_share(Exchange& e, int peer, std::size_t& next) {
    return post_share(e, state_of<Requests>(e), next, [&](int, MPI_Request *request) {
        return MPI_Isend(e.send, e.count, e.type, peer, tag, e.comm, request);
    });
}

int receive_share(Exchange& e, int peer, std::size_t& next) {
    return post_share(e, state_of<Requests>(e), next, [&](int place, MPI_Request *request) {
        return MPI_Irecv(slot(e.receive, e, place), e.count, e.type, peer, tag, e.comm, request);
    });
}

template <typename Act>
int with_each_other(const Exchange& e, Act&& act) {
    for (int step = 1; step < e.size; ++step) {
        const int code = act((e.root + step) % e.size);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int hear(Exchange& e, int peer) {
    return MPI_Recv(nullptr, 0, MPI_BYTE, peer, reply_tag, e.comm, MPI_STATUS_IGNORE);
}

int answer(Exchange& e, int peer) {
    return MPI_Send(nullptr, 0, MPI_BYTE, peer, reply_tag, e.comm);
}

int fan_in(Exchange& e) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    if (e.rank != e.root)
        return first_failure({send_share(e, e.root, next), requests.wait(next), hear(e, e.root)});
    return first_failure(
        {with_each_other(e, [&](int peer) { return receive_share(e, peer, next); }),
         requests.wait(next), with_each_other(e, [&](int peer) { return answer(e, peer); })});
}

int fan_out(Exchange& e) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    if (e.rank != e.root)
        return first_failure(
            {receive_share(e, e.root, next), requests.wait(next), answer(e, e.root)});
    return first_failure(
        {with_each_other(e, [&](int peer) { return send_share(e, peer, next); }),
         requests.wait(next), with_each_other(e, [&](int peer) { return hear(e, peer); })});
}

}  // namespace

Entries fan_kernels() {
    constexpr Shape in{.send_others = Blocks::one, .receive_root = Blocks::window_or_ranks};
    constexpr Shape out{.send_root = Blocks::one, .receive_others = Blocks::window};
    return {{.name = "fan_in_rate", .shape = in, .call = fan_in, .ranks_min = 2,
             .prepare = prepare_requests<1>, .messages = messages},
            {.name = "fan_out_rate", .shape = out, .call = fan_out, .ranks_min = 2,
             .prepare = prepare_requests<1>, .messages = messages}};
}

}  // namespace lanewise::measure
