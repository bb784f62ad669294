// SPDX-License-Identifier: BSD-3-Clause
//
// What the measurements of availability refuse before they begin, with the same answer on every
// rank.

#pragma once

#include <string>

#include "measure/bench.hpp"

namespace lanewise::measure {

/* Whether `method` can be measured here with `buffers` buffers of one message on each rank.
   Collective. */
Outcome admit_availability(const Bench& bench, const std::string& method,
                           std::uint64_t message_bytes, std::uint64_t buffers);

}  // namespace lanewise::measure
