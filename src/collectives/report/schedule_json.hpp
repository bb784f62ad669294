// SPDX-License-Identifier: BSD-3-Clause
//
// Algorithms and schedules as JSON.

#pragma once

#include <span>

#include "base/json.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::tools {

/* [{collective, name, source, cost, restrictions: ["commutative", ...]}, ...] */
Json written_algorithms();

/* [{rank, scratch_bytes, steps: [{kind, peer, from, to, bytes, after}, ...]}, ...] */
Json written(std::span<const model::Schedule> schedules);

}  // namespace lanewise::tools
