// SPDX-License-Identifier: BSD-3-Clause
//
// The window of a one-sided kernel, and the transfers that several kernels make.

#pragma once

#include <cstdint>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {

struct Window {
    MPI_Win window = MPI_WIN_NULL;
    MPI_Group partner = MPI_GROUP_NULL; /* the one rank on the other side */
    bool locked = false;
    std::uint64_t steps = 0; /* of work that takes as long as a put */

    ~Window() {
        if (locked) MPI_Win_unlock_all(window);
        if (partner != MPI_GROUP_NULL) MPI_Group_free(&partner);
        if (window != MPI_WIN_NULL) MPI_Win_free(&window);
    }
};

/* Makes `blocks` messages at `base` a window of all ranks, kept in `e.state`. */
inline int create_window(Exchange& e, std::byte *base, int blocks) {
    auto state = std::make_shared<Window>();
    const auto bytes = static_cast<MPI_Aint>(e.message_bytes) * blocks;
    const int code = MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, e.comm, &state->window);
    e.state = std::move(state);
    return code;
}

/* The same, locked by all until it is freed. */
inline int create_locked(Exchange& e, std::byte *base, int blocks) {
    const int code = create_window(e, base, blocks);
    if (code != MPI_SUCCESS) return code;
    auto& state = state_of<Window>(e);
    const int locked = MPI_Win_lock_all(0, state.window);
    state.locked = locked == MPI_SUCCESS;
    return locked;
}

/* Puts the message into place `there` of the window of `target`. */
inline int put_message(Exchange& e, int target, int there) {
    const auto place = static_cast<MPI_Aint>(e.message_bytes) * there;
    return MPI_Put(e.send, e.count, e.type, target, place, e.count, e.type,
                   state_of<Window>(e).window);
}

/* Gets what `target` would send into place `here` of the receive buffer. */
inline int get_message(Exchange& e, int target, int here) {
    return MPI_Get(slot(e.receive, e, here), e.count, e.type, target, 0, e.count, e.type,
                   state_of<Window>(e).window);
}

}  // namespace lanewise::measure
