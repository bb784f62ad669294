// SPDX-License-Identifier: BSD-3-Clause
//
// Shares: how much of a transfer each lane takes, so that all end together.
//
// A lane with bandwidth b and latency L that ends at T has transferred b(T - L), or nothing if T is
// before L. T is the time at which the shares add up to the whole.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::collectives {

struct LaneRate {
    double latency_s = 0.0;
    double s_per_unit = 1.0; /* above 0 */
};

/* Units for each lane, in all `total`; equal lanes get equal shares to the unit. */
std::vector<std::int64_t> shares_of(std::span<const LaneRate> lanes, std::int64_t total);

}  // namespace lanewise::collectives
