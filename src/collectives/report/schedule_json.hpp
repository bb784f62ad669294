// SPDX-License-Identifier: BSD-3-Clause
//
// Algorithms and schedules as JSON.

#pragma once

#include <span>

#include "base/json.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::report {

/* [{collective, name, source, cost, restrictions: ["commutative", ...]}, ...] */
Json algorithms_json();

/* [{rank, scratch_bytes, steps: [{kind, peer, from, to, bytes, after}, ...]}, ...] */
Json as_json(std::span<const model::Schedule> schedules);

}  // namespace lanewise::report
