// SPDX-License-Identifier: BSD-3-Clause
//
// What a send request must be to be posted (IBA 1, 10.8.2; ibv_post_send of the manual).

#pragma once

#include <cstdint>

#include "verbs/proto/connection/connection.hpp"
#include "verbs/proto/queues/work_request.hpp"

namespace lanewise::verbs {

/* The bytes of its slices, or of its inline data. */
std::uint64_t length_of(const SendRequest& request);

/* 0, or EINVAL where this connection, in its state, does not take the request. */
int check_request(const Connection& connection, const SendRequest& request);

}  // namespace lanewise::verbs
