// SPDX-License-Identifier: BSD-3-Clause
//
// Stop: a flag by which another thread, a callback or a signal handler ends a run.
//
// The threads of a pass look at it after each row block, and after each row of a kernel of the
// user's, which may take long; the run looks once more before it commits: what was set before a
// kernel returned ends the run before its data count.

#pragma once

#include <atomic>

namespace lanewise::wavefront {

inline constexpr const char *stopped_sentence =
    "the run was stopped; the data of its last whole pass are kept";

inline bool stop_asked(const std::atomic<bool> *stop) {
    return stop && stop->load(std::memory_order_acquire);
}

/* As a step carries it: its header has built-in types only. */
struct Stop {
    const std::atomic<bool> *asked = nullptr;
};

}  // namespace lanewise::wavefront
