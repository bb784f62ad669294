// SPDX-License-Identifier: BSD-3-Clause
//
// Choose: what tuning.json says about a call. The file holds the measurements and the rules drawn
// from them; only the rules are kept. Reading is strict: an unknown key, an unknown algorithm or
// overlapping rules refuse the whole file, because a rule that is half understood could make a
// program slower.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "collectives/algorithm.hpp"

namespace lanewise::collectives {

/* From `from_bytes` to `to_bytes`, both included, this algorithm beat the MPI's own. */
struct Rule {
    std::uint64_t from_bytes = 0;
    std::uint64_t to_bytes = 0;
    const Algorithm *algorithm = nullptr;
    std::int64_t segment_bytes = 0;
    int lanes = 1;
};

/* The host of each rank, hosts numbered in the order of their first ranks. */
using Hosts = std::vector<int>;

/* What was measured with one number of ranks on hosts in one order. */
struct LayoutTuning {
    Hosts hosts;
    /* Files of version 1 know only how many ranks each host has, and their rules are for calls with
       any types and operators. */
    bool in_any_order = false;
    bool for_every_call = false;
    bool in_one_order = false; /* rules are faster among algorithms of one bracketing only */
    std::array<std::vector<Rule>, operation_count> rules; /* each ascending */

    int ranks() const { return static_cast<int>(hosts.size()); }
    const std::vector<Rule>& rules_of(Operation operation) const {
        return rules[operation.index()];
    }
};

struct Tuning {
    std::string mpi_family;  /* "openmpi" */
    std::string mpi_library; /* what MPI_Get_library_version said */
    std::vector<LayoutTuning> layouts;
};

/* Whether the measurements of a file, from which its rules were drawn, are looked at. They are most
   of it, and nobody follows them. */
enum class Measurements : std::uint8_t { checked, skipped };

/* Reads a file; a failure names the file, the place in it and the remedy. */
Result<Tuning> read_tuning(const std::string& path,
                           Measurements measurements = Measurements::checked);
/* Reads text; `name` stands for the file in a failure. */
Result<Tuning> parse_tuning(std::string_view text, const std::string& name,
                            Measurements measurements = Measurements::checked);

/* How ranks are placed, as far as it is the same with more of them. */
enum class HostOrder {
    one_host,
    one_each, /* a host of its own for each rank */
    block,    /* one host after the other, all with as many ranks */
    cyclic,   /* one rank on each host, then again from the first, all with as many ranks */
    other,
};
HostOrder order_of(const Hosts& hosts);

/*
 * What ranks on these hosts follow: what was measured for the same hosts; otherwise what was
 * measured for ranks in the same order (not `other`) and at most twice or half as many of them, on
 * at most twice or half as many hosts. Of several the nearest, by the sum of both ratios'
 * logarithms; of two as near the one for fewer ranks. Null: nothing, so the MPI's own.
 */
const LayoutTuning *nearest(const Tuning& tuning, const Hosts& hosts);

/* The rule for a call of this size (as lanewise/operation.h counts it); null: the MPI's own. */
const Rule *find(const LayoutTuning& tuning, Operation operation, std::uint64_t message_bytes);

/* "4 ranks on hosts [0, 0, 1, 1]" */
std::string text_of(const Hosts& hosts);

/* The number of ranks on each host. */
std::vector<int> ranks_on_hosts(const Hosts& hosts);

}  // namespace lanewise::collectives
