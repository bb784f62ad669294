// SPDX-License-Identifier: BSD-3-Clause
//
// NetPIPE 3.7 (Q. Snell, A. Mikler and J. Gustafson, "NetPIPE: A Network Protocol
// Independent Performance Evaluator", 1996; D. Turner and X. Chen, "Protocol-Dependent
// Message-Passing Performance on Linux Clusters", IEEE Cluster 2002). A message is
// bounced in three series without a pause, and half a round trip of the shortest counts.
// The length of a series, about 0.1 s, and their number were seen by running it on a
// library that lists its MPI calls.

#include <algorithm>

#include "measure/definitions/definition.hpp"

namespace lanewise::measure {
namespace {

constexpr double series_s = 0.1;
constexpr double trips_min = 7;
constexpr double trips_max = 1e6;

Calls bounces(std::uint64_t, double trip_s) {
    const double fit = trip_s > 0.0 ? series_s / trip_s : trips_max;
    return {.warm_up = 0,
            .timed = static_cast<std::uint32_t>(std::clamp(fit, trips_min, trips_max))};
}

constexpr Loop bounce{
    .across = Across::first, .series = 3, .calls = bounces, .manner = {.one_buffer = true}};

const Loop *loop_of(const std::string& operation) {
    return operation == "pingpong" ? &bounce : nullptr;
}

}  // namespace

extern const Definition netpipe_definition{
    .name = "netpipe",
    .tool = "NetPIPE 3.7",
    .window = 1,
    .loop_of = loop_of,
};

}  // namespace lanewise::measure
