// SPDX-License-Identifier: BSD-3-Clause

#include "model/lanes/latency_sites.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lanewise::model {
namespace {

// Hosts of one site differ by less: by a switch more, or by a disturbed measurement.
constexpr double gap_least = 5.0;

// A shorter one is as near as can be: what it is shorter by is the clock's, or a message that
// waited for its receive. A coarse clock sees none at all.
constexpr double latency_least_s = 1e-6;

/* Amid the widest gap: latencies below are inside a site. Infinite where there is no gap. */
double border_s(std::vector<double> latencies_s) {
    std::sort(latencies_s.begin(), latencies_s.end());
    double border = std::numeric_limits<double>::infinity();
    double widest = gap_least;
    for (std::size_t i = 1; i < latencies_s.size(); ++i) {
        if (latencies_s[i] < widest * latencies_s[i - 1]) continue;
        widest = latencies_s[i] / latencies_s[i - 1];
        border = std::sqrt(latencies_s[i - 1] * latencies_s[i]);
    }
    return border;
}

}  // namespace

std::vector<int> sites_by_latency(int hosts,
                                  const std::function<double(int from, int to)>& latency_s) {
    std::vector<int> site(static_cast<std::size_t>(hosts), -1);
    // A host alone at its site has no near neighbour. The border found from earlier hosts holds for
    // it.
    double border = std::numeric_limits<double>::infinity();
    int sites = 0;
    for (std::size_t from = 0; from < site.size(); ++from) {
        if (site[from] >= 0) continue;
        std::vector<double> seen_s(site.size(), 0.0);
        std::vector<double> others_s;
        for (std::size_t to = 0; to < site.size(); ++to) {
            if (to == from) continue;
            const double now_s = latency_s(static_cast<int>(from), static_cast<int>(to));
            seen_s[to] = std::max(now_s, latency_least_s);
            others_s.push_back(seen_s[to]);
        }
        border = std::min(border, border_s(others_s));
        site[from] = sites;
        for (std::size_t to = 0; to < site.size(); ++to) {
            if (site[to] < 0 && seen_s[to] < border) site[to] = sites;
        }
        ++sites;
    }
    return site;
}

}  // namespace lanewise::model
