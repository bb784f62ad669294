// SPDX-License-Identifier: BSD-3-Clause
//
// Message rate with all ranks at work. `pairs_rate`: rank i of the first half
// streams to rank i + n/2, as OSU's mbw_mr. `peers_rate`: each rank streams to
// all others at once and receives from all, as Sandia's msgrate.
// `preposted_rate`: the pairs once more, every receive posted before its message
// is sent, those of the next execution at the end of this one; no message is
// unexpected. The time of one message; its inverse is the rate of all.

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 8;
constexpr int preposted_tag = 12; /* these receives outlive their execution */
constexpr int reply_tag = 13;

int pair_count(const Exchange& e) {
    return e.size / 2;
}

int pairs_rate(Exchange& e) {
    const int pairs = pair_count(e);
    if (e.rank >= 2 * pairs) return MPI_SUCCESS;
    const bool sends = e.rank < pairs;
    const int peer = sends ? e.rank + pairs : e.rank - pairs;
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    const int code = sends ? post_sends(e, requests, peer, tag, e.window, next)
                           : post_receives(e, requests, peer, tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure({requests.wait(next), sends ? hear(e, peer, tag) : answer(e, peer, tag)});
}

int peers_rate(Exchange& e) {
    auto& requests = state_of<Requests>(e);
    std::size_t next = 0;
    const int each = share_of_window(e);
    for (int step = 1; step < e.size; ++step) {
        const int peer = (e.rank + e.size - step) % e.size;
        const int code = post_receives(e, requests, peer, tag, each, next);
        if (code != MPI_SUCCESS) return code;
    }
    for (int step = 1; step < e.size; ++step) {
        const int code = post_sends(e, requests, (e.rank + step) % e.size, tag, each, next);
        if (code != MPI_SUCCESS) return code;
    }
    return requests.wait(next);
}

#ifdef LANEWISE_SIMULATED
constexpr const char *preposted_lacks = "receives that can be cancelled";
#else
constexpr const char *preposted_lacks = nullptr;
#endif

/* Receives that wait for the next execution; cancelled where there is none. */
struct Posted {
    Requests requests;

    ~Posted() {
        for (auto& request : requests.list) {
            if (request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
};

bool receives(const Exchange& e) {
    return e.rank >= pair_count(e) && e.rank < 2 * pair_count(e);
}

int post_all(Exchange& e) {
    std::size_t next = 0;
    return post_receives(e, state_of<Posted>(e).requests, e.rank - pair_count(e), preposted_tag,
                         e.window, next);
}

int prepost(Exchange& e) {
    auto posted = std::make_shared<Posted>();
    posted->requests.list.assign(static_cast<std::size_t>(e.window), MPI_REQUEST_NULL);
    e.state = std::move(posted);
    return receives(e) ? post_all(e) : MPI_SUCCESS;
}

int preposted_rate(Exchange& e) {
    const int pairs = pair_count(e);
    if (e.rank >= 2 * pairs) return MPI_SUCCESS;
    auto& requests = state_of<Posted>(e).requests;
    if (receives(e)) {
        const int code = requests.wait(static_cast<std::size_t>(e.window));
        return first_failure({code, post_all(e), answer(e, e.rank - pairs, reply_tag)});
    }
    const int peer = e.rank + pairs;
    std::size_t next = 0;
    const int code = post_sends(e, requests, peer, preposted_tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure({requests.wait(next), hear(e, peer, reply_tag)});
}

Origins streamed_in_pairs(const Standpoint& s) {
    const int pairs = s.size / 2;
    const bool receives = s.me >= pairs && s.me < 2 * pairs;
    return receives ? repeated(s.window, {{s.me - pairs}}) : Origins{};
}

Origins streamed_by_all(const Standpoint& s) {
    Origins all;
    for (int step = 1; step < s.size; ++step) {
        const auto part = repeated(std::max(1, s.window / (s.size - 1)), {{rank_at(s, -step)}});
        all.insert(all.end(), part.begin(), part.end());
    }
    return all;
}

}  // namespace

Entries message_rate_benchmarks() {
    return {
        {.name = "pairs_rate",
         .shape = all_ranks(Blocks::one, Blocks::window),
         .call = pairs_rate,
         .ranks_min = 2,
         .prepare = prepare_requests<1>,
         .messages = [](const Exchange& e) { return e.window * pair_count(e); },
         .delivers = streamed_in_pairs},
        {.name = "preposted_rate",
         .shape = all_ranks(Blocks::one, Blocks::window),
         .call = preposted_rate,
         .ranks_min = 2,
         .prepare = prepost,
         .messages = [](const Exchange& e) { return e.window * pair_count(e); },
         .lacks = preposted_lacks,
         .delivers = streamed_in_pairs},
        {.name = "peers_rate",
         .shape = all_ranks(Blocks::one, Blocks::window_or_ranks),
         .call = peers_rate,
         .ranks_min = 2,
         .prepare = prepare_requests<2>,
         .messages = [](const Exchange& e) { return share_of_window(e) * (e.size - 1) * e.size; },
         .delivers = streamed_by_all}};
}

}  // namespace lanewise::measure
