// SPDX-License-Identifier: BSD-3-Clause
//
// Latency sites: which hosts stand together, by the time between them. The way
// to another site is many times as long as that inside one. Seen from one host,
// others are near up to the widest gap between two latencies in order; who is
// near is at its site. The next host without a site looks from there, until all
// have one: hosts times sites are looked at, not all pairs.

#pragma once

#include <functional>
#include <vector>

namespace lanewise::model {

/* The site of each of `hosts` hosts, counted from 0 in the order of their first hosts. */
std::vector<int> sites_by_latency(int hosts,
                                  const std::function<double(int from, int to)>& latency_s);

}  // namespace lanewise::model
