// SPDX-License-Identifier: BSD-3-Clause
//
// Random pairs: each execution pairs the ranks differently, in the same way on every
// rank. `unirandom_rate`: the first of a pair streams a window to the second,
// which answers once; `birandom_rate`: both stream (IMB-P2P's Unirandom and
// Birandom). A rank left over waits. The time of one message; its inverse is
// the rate of all.

#include <algorithm>
#include <numeric>
#include <random>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 15;
constexpr int reply_tag = 16;
constexpr int pairings = 64; /* drawn beforehand, then used in rotation */

struct Role {
    int peer = MPI_PROC_NULL;
    bool first = false;
};

struct Pairs {
    Requests requests;
    std::vector<Role> roles;
    std::size_t turn = 0;

    const Role& next() {
        const auto& role = roles[turn];
        turn = (turn + 1) % roles.size();
        return role;
    }
};

Role role_of(int rank, const std::vector<int>& order) {
    const auto place = std::find(order.begin(), order.end(), rank) - order.begin();
    const auto other = static_cast<std::size_t>(place ^ 1);
    if (other >= order.size()) return {};
    return {order[other], place % 2 == 0};
}

int draw(Exchange& e) {
    auto pairs = std::make_shared<Pairs>();
    for (int turn = 0; turn < pairings; ++turn) {
        pairs->roles.push_back(role_of(e.rank, shuffled_ranks(e.size, turn)));
    }
    pairs->requests.list.assign(2 * static_cast<std::size_t>(e.window), MPI_REQUEST_NULL);
    e.state = std::move(pairs);
    return MPI_SUCCESS;
}

int unirandom(Exchange& e) {
    auto& pairs = state_of<Pairs>(e);
    const auto role = pairs.next();
    if (role.peer == MPI_PROC_NULL) return MPI_SUCCESS;
    std::size_t next = 0;
    const int code = role.first ? post_sends(e, pairs.requests, role.peer, tag, e.window, next)
                                : post_receives(e, pairs.requests, role.peer, tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure({pairs.requests.wait(next), role.first ? hear(e, role.peer, reply_tag)
                                                                : answer(e, role.peer, reply_tag)});
}

int birandom(Exchange& e) {
    auto& pairs = state_of<Pairs>(e);
    const auto role = pairs.next();
    if (role.peer == MPI_PROC_NULL) return MPI_SUCCESS;
    std::size_t next = 0;
    const int code = post_receives(e, pairs.requests, role.peer, tag, e.window, next);
    if (code != MPI_SUCCESS) return code;
    return first_failure(
        {post_sends(e, pairs.requests, role.peer, tag, e.window, next), pairs.requests.wait(next)});
}

enum class Ways { one, both };

template <Ways ways>
Origins streamed_at_random(const Standpoint& s) {
    const auto order = shuffled_ranks(s.size, 0);
    for (std::size_t first = 0; first + 1 < order.size(); first += 2) {
        if (order[first + 1] == s.me) return repeated(s.window, {{order[first]}});
        if (order[first] == s.me && ways == Ways::both)
            return repeated(s.window, {{order[first + 1]}});
    }
    return {};
}

}  // namespace

// The generator's numbers are the same everywhere, those of std::shuffle are not.
std::vector<int> shuffled_ranks(int size, int turn) {
    std::vector<int> order(static_cast<std::size_t>(size));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(static_cast<std::uint32_t>(turn) + 1);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    return order;
}

Entries random_pairs_benchmarks() {
    const Entry common{
        .shape = all_ranks(Blocks::one, Blocks::window), .ranks_min = 2, .prepare = draw};
    Entries entries(2, common);
    entries[0].name = "unirandom_rate";
    entries[0].call = unirandom;
    entries[0].messages = [](const Exchange& e) { return e.window * (e.size / 2); };
    entries[0].delivers = streamed_at_random<Ways::one>;
    entries[1].name = "birandom_rate";
    entries[1].call = birandom;
    entries[1].messages = [](const Exchange& e) { return 2 * e.window * (e.size / 2); };
    entries[1].delivers = streamed_at_random<Ways::both>;
    return entries;
}

}  // namespace lanewise::measure
