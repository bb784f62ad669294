// SPDX-License-Identifier: BSD-3-Clause
//
// Plan: from shape, budget and rates to waves per pass, buffers, bytes and time.
//
// A pass streams every strip through memory once while K waves, each one
// iteration, follow each other down the rows; wave k works one row block behind wave
// k - 1, because a cell needs the rows below it as the wave before left them.
// So a pass reads each byte once and writes the data once for K iterations:
// bytes per cell and iteration = element (coefficients + 2 data) / K. It is
// limited by the disk until K* = F (read/r + written/w), F being the kernel's
// cells per second, and by the kernel beyond. Pure: no clock, no file.

#pragma once

#include "wavefront/plan/request.hpp"

namespace lanewise::wavefront {

/* Refuses a budget below the minimum (and names it), a radius greater than a strip, and 0
 * iterations. */
Result<Plan> make_plan(const Request& request);

}  // namespace lanewise::wavefront
