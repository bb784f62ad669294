// SPDX-License-Identifier: BSD-3-Clause
//
// What the benchmarks share: communication patterns that take several calls, as
// benchmarks of interconnects have them (InfiniPath and XD1 2006, section 3;
// Intel MPI Benchmarks; COMB). A benchmark or a family of them is one file of this
// folder and one line in registry.cpp.

#pragma once

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "measure/harness/operation.hpp"

namespace lanewise::measure {

using Entries = std::vector<Entry>;

/* Every benchmark, in the order in which they are listed. */
Entries benchmarks();

constexpr BufferShape all_ranks(Blocks send, Blocks receive) {
    return {send, send, receive, receive};
}

/* The rank that the root's partner of a two-rank benchmark is. */
inline int partner(const Exchange& e) {
    return (e.root + 1) % e.size;
}

/* Whether a receiver names the rank that it receives from. */
enum class Source { named, any };

template <Source source>
int from(int rank) {
    return source == Source::any ? MPI_ANY_SOURCE : rank;
}

/* The first failure among codes of calls that are all made. */
inline int first_failure(std::initializer_list<int> codes) {
    for (const int code : codes) {
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/* Place `index` of a buffer of several messages. */
inline std::byte *slot(std::byte *buffer, const Exchange& e, int index) {
    return buffer + static_cast<std::size_t>(index) * e.message_bytes;
}

/* The ranks in a random order, the same on every rank, another for each `turn`. */
std::vector<int> shuffled_ranks(int size, int turn);

/* The requests of one execution, kept so that no execution allocates. */
struct Requests {
    std::vector<MPI_Request> list;

    MPI_Request *at(std::size_t index) {
        if (list.size() <= index) list.resize(index + 1, MPI_REQUEST_NULL);
        return &list[index];
    }
    int wait(std::size_t count) {
        return MPI_Waitall(static_cast<int>(count), list.data(), MPI_STATUSES_IGNORE);
    }
};

/* Where message `index` of a window arrives. */
inline std::byte *arrival(const Exchange& e, std::size_t index) {
    return slot(e.receive, e, e.one_place ? 0 : static_cast<int>(index));
}

/* Begins to receive `count` messages from `peer`, as many places further on as `next` says. */
inline int post_receives(Exchange& e, Requests& requests, int peer, int tag, int count,
                         std::size_t& next) {
    for (int i = 0; i < count; ++i) {
        auto *place = arrival(e, next);
        const int code = MPI_Irecv(place, e.count, e.type, peer, tag, e.comm, requests.at(next++));
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/* Begins to send the message `count` times to `peer`. */
inline int post_sends(Exchange& e, Requests& requests, int peer, int tag, int count,
                      std::size_t& next) {
    for (int i = 0; i < count; ++i) {
        const int code = MPI_Isend(e.send, e.count, e.type, peer, tag, e.comm, requests.at(next++));
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/* The share of one peer in a window that is divided among all others: at least one message. */
inline int share_of_window(const Exchange& e) {
    return std::max(1, e.window / (e.size - 1));
}

/* Confirms to `peer` that its window has arrived; waits for that confirmation. */
inline int answer(const Exchange& e, int peer, int tag) {
    return MPI_Send(nullptr, 0, MPI_BYTE, peer, tag, e.comm);
}
inline int hear(const Exchange& e, int peer, int tag) {
    return MPI_Recv(nullptr, 0, MPI_BYTE, peer, tag, e.comm, MPI_STATUS_IGNORE);
}

/* The state that `prepare` of a benchmark made. */
template <typename State>
State& state_of(Exchange& e) {
    return *static_cast<State *>(e.state.get());
}

/* Room for the requests of `each` windows; the `prepare` of benchmarks with windows. */
template <std::size_t each>
int prepare_requests(Exchange& e) {
    auto requests = std::make_shared<Requests>();
    requests->list.assign(each * static_cast<std::size_t>(e.window), MPI_REQUEST_NULL);
    e.state = std::move(requests);
    return MPI_SUCCESS;
}

}  // namespace lanewise::measure
