// SPDX-License-Identifier: BSD-3-Clause
//
// Lane rates: what lanes between sites carry together, b(P) for P = 1, 2, 4, ... until another
// doubling gains less than 5 %, for each pair of sites in both directions; the latency between
// them, and what one pair of hosts inside a site carries. These are the numbers that the cost model
// of multilane scatter and gather asks for (2008, section 4.3, step 1). What one host carries to or
// from several at the other site, alone and with as many at its own, tells a slow connection from a
// slow interface: an MPI that sends to all ranks from the root uses many connections of one host.
//
// Senders keep a window of messages in flight; the time is taken at the receivers from a quarter of
// the messages on, when TCP has found its rate. Ranks learn their sites from LANEWISE_PLACEMENT;
// without it, hosts that are near each other count as one site, called site1, site2, ...

#pragma once

#include "base/result.hpp"
#include "measure/harness/harness.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::tune {

/* A platform of this job's hosts and sites with its lane curves. Collective; the same everywhere.
 */
Result<model::Platform> measure_lanes(const measure::Harness& harness);

/* `kept` with the curves of `measured`; refused where it is of other hosts, as file `path`. */
Result<model::Platform> with_lanes_of(model::Platform kept, const model::Platform& measured,
                                      const std::string& path);

}  // namespace lanewise::tune
