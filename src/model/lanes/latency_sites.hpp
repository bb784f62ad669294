// SPDX-License-Identifier: BSD-3-Clause
//
// Latency sites: which hosts are at one site, judged by the latency between them.
//
// The latency to another site is many times that inside one. Seen from one host, the others are
// near up to the widest gap in the sorted latencies, and those that are near are at its site. The
// next host without a site is then asked in the same way, until all have one. This looks at as many
// latencies as hosts times sites, not at all pairs.

#pragma once

#include <functional>
#include <vector>

namespace lanewise::model {

/* The site of each of `hosts` hosts, counted from 0 in the order of their first hosts. */
std::vector<int> sites_by_latency(int hosts,
                                  const std::function<double(int from, int to)>& latency_s);

}  // namespace lanewise::model
