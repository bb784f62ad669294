// SPDX-License-Identifier: BSD-3-Clause
//
// What plans of whole rows and plans of parallelograms have in common.

#pragma once

#include "wavefront/plan/plan.hpp"

namespace lanewise::wavefront {

/* tiled: groups of waves take column blocks of columns, and need room for their rounds; plain: as
 * little room as can be. */
enum class Order { tiled, plain };

Tiling choose_tiling(const Request& request, std::uint64_t waves, Order order);

/* Strips between the one that the first wave needs and the one that the last wave still reads:
 * K row blocks of lag, the rounds of each group, and the row blocks above and below. */
std::uint64_t strips_in_work(const Request& request, std::uint64_t waves,
                             std::uint64_t rows_per_block, Order order);

/* What is asked for, or what hides the disk; no more than could ever work. */
std::uint64_t wanted_waves(const Request& request);

/* That the budget is below `needed_bytes`. */
Failure too_small(const Request& request, std::uint64_t needed_bytes);

/* From the bytes that the plan moves. */
void estimate_time(const Request& request, Plan& plan);

}  // namespace lanewise::wavefront
