// SPDX-License-Identifier: BSD-3-Clause
//
// Fans: `fan_in_rate`, all other ranks stream to the root at once, which answers
// each when all have arrived; `fan_out_rate`, the root streams to all of them
// and each answers. The window is shared out among them (OSU's bw_fan_in and
// bw_fan_out). The time of one message.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 17;
constexpr int reply_tag = 18;

int messages(const Exchange& e) {
    return share_of_window(e) * (e.size - 1);
}

int send_share(Exchange& e, int peer, std::size_t& next) {
    return post_sends(e, state_of<Requests>(e), peer, tag, share_of_window(e), next);
}

int receive_share(Exchange& e, int peer, std::size_t& next) {
    return post_receives(e, state_of<Requests>(e), peer, tag, share_of_window(e), next);
}

template <typename Act>
int with_each_other(const Exchange& e, Act&& act) {
    for (int step = 1; step < e.size; ++step) {
        const int code = act((e.root + step) % e.size);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int fan_in(Exchange& e) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    int code = e.rank == e.root
                   ? with_each_other(e, [&](int peer) { return receive_share(e, peer, next); })
                   : send_share(e, e.root, next);
    if (code != MPI_SUCCESS) return code;
    code = requests.wait(next);
    if (code != MPI_SUCCESS) return code;
    if (e.rank != e.root) return hear(e, e.root, reply_tag);
    return with_each_other(e, [&](int peer) { return answer(e, peer, reply_tag); });
}

int fan_out(Exchange& e) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    int code = e.rank == e.root
                   ? with_each_other(e, [&](int peer) { return send_share(e, peer, next); })
                   : receive_share(e, e.root, next);
    if (code != MPI_SUCCESS) return code;
    code = requests.wait(next);
    if (code != MPI_SUCCESS) return code;
    if (e.rank != e.root) return answer(e, e.root, reply_tag);
    return with_each_other(e, [&](int peer) { return hear(e, peer, reply_tag); });
}

Origins fanned_in(const Standpoint& s) {
    const int share = std::max(1, s.window / (s.size - 1));
    Origins all;
    for (int step = 1; step < s.size; ++step) {
        const auto part = repeated(share, {{rank_at(s, step)}});
        all.insert(all.end(), part.begin(), part.end());
    }
    return at_root(s, all);
}

Origins fanned_out(const Standpoint& s) {
    const int share = std::max(1, s.window / (s.size - 1));
    return s.me == s.root ? Origins{} : repeated(share, {{s.root}});
}

}  // namespace

Entries fan_benchmarks() {
    constexpr BufferShape in{.send_others = Blocks::one, .receive_root = Blocks::window_or_ranks};
    constexpr BufferShape out{.send_root = Blocks::one, .receive_others = Blocks::window};
    return {{.name = "fan_in_rate",
             .shape = in,
             .call = fan_in,
             .ranks_min = 2,
             .prepare = prepare_requests<1>,
             .messages = messages,
             .delivers = fanned_in},
            {.name = "fan_out_rate",
             .shape = out,
             .call = fan_out,
             .ranks_min = 2,
             .prepare = prepare_requests<1>,
             .messages = messages,
             .delivers = fanned_out}};
}

}  // namespace lanewise::measure
