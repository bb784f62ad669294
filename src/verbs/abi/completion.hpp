// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues, for the plain and the extended way to read them.

#pragma once

#include <span>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {

// Null with errno set where it cannot be made.
CompletionObject *make_completion_queue(ibv_context *context, std::uint32_t entries,
                                        void *cq_context, ibv_comp_channel *channel,
                                        int comp_vector);

// Makes progress and takes what has completed; returns how many.
std::size_t poll_completions(CompletionObject& object, std::span<Completion> into);

ibv_wc shown_completion(const Completion& completion);

}  // namespace lanewise::verbs::abi
